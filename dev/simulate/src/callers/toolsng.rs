//! The caller of squashfs-tools-ng 1.1.0, after its `lib/sqfs/block_processor` and `lib/util/threadpool.c`.
//!
//! Hashing and compressing a block is one job. The caller takes results only when its window, counted in items, is full, until
//! one item is free. Blocks are written in the order of an I/O number. A fragment block gets its number as soon as it is full,
//! but its job goes to the end of the queue: every later block waits in the window until that job has run.

use super::{Caller, Job, Step};
use crate::workload::{Block, Item, Workload};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug)]
pub struct ToolsNg<'a> {
    work: &'a Workload,
    /// Limit of the window, items.
    max: usize,
    /// Items in the window: current, queued, waiting to be written, and the open fragment block.
    backlog: usize,
    next_item: usize,
    tickets: Vec<Ticket>,
    /// The next ticket to take, and the first that is not known to be done.
    taken: usize,
    safe: usize,
    /// Whether the last check under the lock found the next ticket unfinished.
    checked: bool,
    /// Items in the window when the caller began to free space.
    items_before: Option<usize>,
    open_fragments: bool,
    io_numbers: u64,
    io_next: u64,
    /// Results to be written, by I/O number: time to write, and bytes in the window.
    io: BTreeMap<u64, (f64, f64)>,
    pending: VecDeque<Step>,
    done: usize,
    held: f64,
    peak: f64,
}

#[derive(Debug)]
struct Ticket {
    done: bool,
    content: TicketContent,
}

#[derive(Debug, Clone, Copy)]
enum TicketContent {
    /// A block that is a whole item, by number.
    Block(usize),
    Fragment(usize),
    /// A full block of fragments, and its I/O number.
    FragmentBlock(usize, u64),
}

impl<'a> ToolsNg<'a> {
    /// `max` is the limit of the window, items.
    pub fn new(work: &'a Workload, max: usize) -> Self {
        Self {
            work,
            max: max.max(3),
            backlog: 0,
            next_item: 0,
            tickets: Vec::new(),
            taken: 0,
            safe: 0,
            checked: false,
            items_before: None,
            open_fragments: false,
            io_numbers: 0,
            io_next: 0,
            io: BTreeMap::new(),
            pending: VecDeque::new(),
            done: 0,
            held: 0.0,
            peak: 0.0,
        }
    }

    fn hold(&mut self, bytes: f64) {
        self.held += bytes;
        self.peak = self.peak.max(self.held);
    }

    fn submit(&mut self, content: TicketContent, hash: f64, compress: f64) -> Step {
        let place = self.tickets.len() as u64;
        self.tickets.push(Ticket { done: false, content });
        Step::Submit(Job { place, hash, compress, after: None })
    }

    /// Reads an item into the window and submits it.
    fn feed(&mut self) -> Step {
        let item = &self.work.items[self.next_item];
        self.backlog += 1;
        self.hold(item.bytes);
        let step = if item.whole {
            let compress = self.work.blocks[item.first].compress.unwrap_or(0.0);
            self.submit(TicketContent::Block(item.first), item.hash, compress)
        } else {
            self.submit(TicketContent::Fragment(self.next_item), item.hash, 0.0)
        };
        self.next_item += 1;
        self.pending.push_back(step);
        Step::Spend(item.read)
    }

    /// One step towards a free item in the window; `None` when there is one.
    fn free_space(&mut self, before: usize) -> Option<Step> {
        loop {
            if let Some((commit, bytes)) = self.io.remove(&self.io_next) {
                self.io_next += 1;
                self.backlog -= 1;
                self.held -= bytes;
                return Some(Step::Spend(commit));
            }
            if self.backlog < before || self.backlog <= usize::from(self.open_fragments) {
                return None;
            }
            if self.taken == self.safe {
                self.checked = !self.checked;
                return Some(if self.checked { Step::CheckResults } else { Step::Wait });
            }
            self.checked = false;
            if let Some(step) = self.retire() {
                return Some(step);
            }
        }
    }

    /// Takes the next result in the order of submission. A block then waits to be written.
    fn retire(&mut self) -> Option<Step> {
        let content = self.tickets[self.taken].content;
        self.taken += 1;
        self.done -= 1;
        match content {
            TicketContent::Fragment(item) => return Some(self.pack(item)),
            TicketContent::Block(block) => {
                self.io_numbers += 1;
                self.store(block, self.io_numbers - 1);
            }
            TicketContent::FragmentBlock(block, number) => self.store(block, number),
        }
        None
    }

    fn store(&mut self, block: usize, number: u64) {
        let Block { bytes_in, commit, .. } = self.work.blocks[block];
        self.io.insert(number, (commit, bytes_in));
    }

    /// Copies a fragment into the open block. If the open block is full, submits it, and begins the next block with the fragment.
    fn pack(&mut self, number: usize) -> Step {
        let Item { bytes, decide, first, blocks, .. } = self.work.items[number];
        for block in first..first + blocks {
            let io = self.io_numbers;
            self.io_numbers += 1;
            let Block { compress, bytes_in, .. } = self.work.blocks[block];
            self.hold(bytes_in);
            let step = self.submit(TicketContent::FragmentBlock(block, io), 0.0, compress.unwrap_or(0.0));
            self.pending.push_back(step);
        }
        self.held -= bytes;
        let stays = blocks > 0 || !self.open_fragments;
        self.open_fragments = true;
        self.backlog -= usize::from(!stays);
        Step::Spend(decide)
    }
}

impl Caller for ToolsNg<'_> {
    fn step(&mut self) -> Step {
        loop {
            if let Some(step) = self.pending.pop_front() {
                return step;
            }
            if let Some(before) = self.items_before {
                match self.free_space(before) {
                    Some(step) => return step,
                    None => self.items_before = None,
                }
            }
            let over = self.next_item == self.work.items.len();
            if over && self.backlog <= usize::from(self.open_fragments) {
                return Step::Finish;
            }
            if !over && self.backlog < self.max {
                return self.feed();
            }
            self.items_before = Some(self.backlog);
        }
    }

    /// Every result wakes the caller.
    fn done(&mut self, job: usize) -> bool {
        self.tickets[job].done = true;
        self.done += 1;
        true
    }

    /// A push takes all results that are next in order; a check only one.
    fn locked(&mut self, pushed: bool) {
        while self.tickets.get(self.safe).is_some_and(|ticket| ticket.done) {
            self.safe += 1;
            if !pushed {
                return;
            }
        }
    }

    fn ready(&self) -> usize {
        self.done
    }

    fn peak_bytes(&self) -> f64 {
        self.peak
    }
}
