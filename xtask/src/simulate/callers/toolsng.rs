//! The caller of squashfs-tools-ng 1.1.0, as its `lib/sqfs/block_processor` and `lib/util/threadpool.c` have it.
//!
//! Hashing and compressing a block is one job. It takes a result only when its window, counted in items, is full; then it
//! goes on until one place of the window is free. Blocks are written in the order of an I/O number. A fragment block has
//! its number from the moment it is full, but its job goes to the end of the queue: every block behind it waits in the
//! window until the queue has come round to it.

use super::{Caller, Job, Step};
use crate::simulate::workload::{Item, Press, Workload};
use std::collections::{BTreeMap, VecDeque};

/// The caller's state.
#[derive(Debug)]
pub struct ToolsNg<'a> {
    work: &'a Workload,
    /// Most items in the window.
    most: usize,
    /// Items in the window: current, queued, waiting for their turn to be written, and the open fragment block.
    backlog: usize,
    next_item: usize,
    tickets: Vec<Ticket>,
    /// The next ticket to be taken, and the first that is not known to be done.
    taken: usize,
    safe: usize,
    /// Whether the lock was held just now and the next ticket was not done.
    glanced: bool,
    /// The window's size when it began to make room.
    making_room: Option<usize>,
    open_fragments: bool,
    io_numbers: u64,
    io_next: u64,
    /// Results that wait to be written, by I/O number: what writing each costs, and its size in the window.
    io: BTreeMap<u64, (f64, f64)>,
    pending: VecDeque<Step>,
    done: usize,
    held: f64,
    peak: f64,
}

#[derive(Debug)]
struct Ticket {
    done: bool,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// A press of a whole item, by number.
    Block(usize),
    /// An item that is a fragment.
    Fragment(usize),
    /// A press that is a full block of fragments, and its I/O number.
    FragmentBlock(usize, u64),
}

impl<'a> ToolsNg<'a> {
    /// The caller before its first item. Its window is ten items for each worker.
    pub fn new(work: &'a Workload, most: usize) -> Self {
        Self {
            work,
            most: most.max(3),
            backlog: 0,
            next_item: 0,
            tickets: Vec::new(),
            taken: 0,
            safe: 0,
            glanced: false,
            making_room: None,
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

    fn submit(&mut self, what: What, hash: f64, compress: f64) -> Step {
        let place = self.tickets.len() as u64;
        self.tickets.push(Ticket { done: false, what });
        Step::Submit(Job { place, hash, compress, after: None })
    }

    /// Reads an item into the place it has in the window, and submits it.
    fn feed(&mut self) -> Step {
        let item = &self.work.items[self.next_item];
        self.backlog += 1;
        self.hold(item.bytes);
        let step = match item.whole {
            true => {
                let compress = self.work.presses[item.first].compress.unwrap_or(0.0);
                self.submit(What::Block(item.first), item.hash, compress)
            }
            false => self.submit(What::Fragment(self.next_item), item.hash, 0.0),
        };
        self.next_item += 1;
        self.pending.push_back(step);
        Step::Spend(item.read)
    }

    /// One step towards a free place in the window; `None` when there is one.
    fn make_room(&mut self, before: usize) -> Option<Step> {
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
                self.glanced = !self.glanced;
                return Some(if self.glanced { Step::Glance } else { Step::Wait });
            }
            self.glanced = false;
            if let Some(step) = self.retire() {
                return Some(step);
            }
        }
    }

    /// Takes the next result in the order of submission. A block only waits to be written from now on.
    fn retire(&mut self) -> Option<Step> {
        let what = self.tickets[self.taken].what;
        self.taken += 1;
        self.done -= 1;
        match what {
            What::Fragment(item) => return Some(self.pack(item)),
            What::Block(press) => {
                self.io_numbers += 1;
                self.store(press, self.io_numbers - 1);
            }
            What::FragmentBlock(press, number) => self.store(press, number),
        }
        None
    }

    fn store(&mut self, press: usize, number: u64) {
        let Press { bytes_in, commit, .. } = self.work.presses[press];
        self.io.insert(number, (commit, bytes_in));
    }

    /// Puts a fragment into the open block. If that is full it is submitted, and this fragment begins the next.
    fn pack(&mut self, number: usize) -> Step {
        let Item { bytes, decide, first, presses, .. } = self.work.items[number];
        for press in first..first + presses {
            let io = self.io_numbers;
            self.io_numbers += 1;
            let Press { compress, bytes_in, .. } = self.work.presses[press];
            self.hold(bytes_in);
            let step = self.submit(What::FragmentBlock(press, io), 0.0, compress.unwrap_or(0.0));
            self.pending.push_back(step);
        }
        self.held -= bytes;
        let stays = presses > 0 || !self.open_fragments;
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
            if let Some(before) = self.making_room {
                match self.make_room(before) {
                    Some(step) => return step,
                    None => self.making_room = None,
                }
            }
            let over = self.next_item == self.work.items.len();
            if over && self.backlog <= usize::from(self.open_fragments) {
                return Step::Finish;
            }
            if !over && self.backlog < self.most {
                return self.feed();
            }
            self.making_room = Some(self.backlog);
        }
    }

    /// Each result is broadcast, whichever it is.
    fn done(&mut self, job: usize) -> bool {
        self.tickets[job].done = true;
        self.done += 1;
        true
    }

    /// A push takes every result in order with it; a look only the next.
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
