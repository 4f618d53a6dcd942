//! packline's caller: reads, submits the hash stage, decides in order, submits the compress stage, commits in order.
//!
//! The rules are the rules of `crates/engine`. After each item the caller commits and decides the results that are ready at the
//! heads of both lanes, in turn. It sleeps only for memory or at the end. It is woken when a quarter of a lane is
//! ready, as long as two jobs a worker remain, or when a quarter of the window is free. Hash jobs go to the queues in turn,
//! compress jobs to the queue of the worker that hashed their input. Compress jobs precede all hash jobs. Each item in flight
//! has a fixed overhead.

use super::{Caller, Job, Step, Window};
use crate::workload::Workload;
use std::collections::VecDeque;

/// The pipeline's overhead for each item in flight, bytes: `ENTRY_BYTES` of `crates/engine/src/caller/stage.rs`. The size of a
/// container's own types is not known and not included.
const ENTRY_BYTES: f64 = 128.0;

/// Added to the positions of hash jobs, so that all compress jobs precede them.
const HASH_LANE: u64 = 1 << 62;

#[derive(Debug)]
pub struct Packline<'a> {
    work: &'a Workload,
    window: Window,
    /// Two jobs for each worker: the number that must remain after a result that the caller waits for.
    busy: usize,
    phase: Phase,
    next_item: usize,
    next_block: usize,
    hash: Lane,
    commit: Lane,
    jobs: Vec<(Stage, u64)>,
    /// The hash job of each submitted item.
    hashed_by: Vec<usize>,
    /// Remaining steps of the last decision.
    pending: VecDeque<Step>,
    wanted: [Option<u64>; 2],
    held: f64,
    peak: f64,
    ready: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Reserve,
    Feed,
    Turn,
    Drain,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Hash,
    Block,
}

/// The results of a stage in order; tickets count from 0.
#[derive(Debug, Default)]
struct Lane {
    slots: VecDeque<bool>,
    first: u64,
}

impl Lane {
    fn open(&mut self, ready: bool) -> u64 {
        self.slots.push_back(ready);
        self.first + self.slots.len() as u64 - 1
    }

    fn fill(&mut self, ticket: u64) {
        self.slots[(ticket - self.first) as usize] = true;
    }

    /// Removes the head if it is ready, and returns its ticket.
    fn take(&mut self) -> Option<usize> {
        self.slots.front().filter(|ready| **ready)?;
        self.slots.pop_front();
        self.first += 1;
        Some(self.first as usize - 1)
    }

    /// The ticket whose result wakes a sleeping caller.
    fn want(&self, busy: usize) -> Option<u64> {
        let ahead = self.slots.len().saturating_sub(busy).min(self.slots.len() / 4);
        let missing = [ahead, 0].into_iter().find(|&at| self.slots.get(at) == Some(&false))?;
        Some(self.first + missing as u64)
    }
}

impl<'a> Packline<'a> {
    pub fn new(work: &'a Workload, window: Window, workers: usize) -> Self {
        Self {
            work,
            window,
            busy: 2 * workers,
            phase: Phase::Reserve,
            next_item: 0,
            next_block: 0,
            hash: Lane::default(),
            commit: Lane::default(),
            jobs: Vec::new(),
            hashed_by: Vec::new(),
            pending: VecDeque::new(),
            wanted: [None; 2],
            held: 0.0,
            peak: 0.0,
            ready: 0,
        }
    }

    fn fits(&self) -> bool {
        let items = self.items();
        let bytes = self.work.items[self.next_item].bytes;
        items == 0
            || match self.window {
                Window::Items(max) => items < max,
                Window::Bytes(max) => self.held + bytes + self.overhead() <= max,
            }
    }

    fn items(&self) -> usize {
        self.hash.slots.len() + self.commit.slots.len()
    }

    fn overhead(&self) -> f64 {
        self.items() as f64 * ENTRY_BYTES
    }

    /// Whether enough memory is free to wake a caller that sleeps for it.
    fn is_free(&self) -> bool {
        let Window::Bytes(max) = self.window else { return false };
        let free = max - self.work.items[self.next_item].bytes - self.overhead();
        free >= 0.0 && self.held <= free.min(max * 0.75)
    }

    fn hold(&mut self, bytes: f64) {
        self.held += bytes;
        self.peak = self.peak.max(self.held);
    }

    /// Submits the hash job, or a compress job, of `item`.
    fn submit(&mut self, stage: Stage, ticket: u64, time: f64, item: usize) -> Step {
        let number = self.jobs.len();
        self.jobs.push((stage, ticket));
        Step::Submit(match stage {
            Stage::Hash => {
                self.hashed_by.push(number);
                Job { place: HASH_LANE | ticket, hash: time, compress: 0.0, after: None }
            }
            Stage::Block => Job { place: ticket, hash: 0.0, compress: time, after: Some(self.hashed_by[item]) },
        })
    }

    /// Commits one result and decides one, if ready. Returns whether there was any.
    fn turn(&mut self) -> bool {
        let committed = self.commit();
        let decided = self.decide();
        committed || decided
    }

    fn commit(&mut self) -> bool {
        let Some(ticket) = self.commit.take() else { return false };
        let block = &self.work.blocks[ticket];
        self.ready -= 1;
        self.held -= block.bytes_out;
        self.pending.push_back(Step::Spend(block.commit));
        true
    }

    fn decide(&mut self) -> bool {
        let Some(ticket) = self.hash.take() else { return false };
        let item = &self.work.items[ticket];
        self.ready -= 1;
        self.pending.push_back(Step::Spend(item.decide));
        self.held -= item.bytes;
        for _ in 0..item.blocks {
            self.submit_block(ticket);
        }
        true
    }

    fn submit_block(&mut self, item: usize) {
        let block = &self.work.blocks[self.next_block];
        self.next_block += 1;
        let Some(time) = block.compress else {
            self.hold(block.bytes_out);
            self.commit.open(true);
            self.ready += 1;
            return;
        };
        self.hold(block.bytes_in);
        let ticket = self.commit.open(false);
        let step = self.submit(Stage::Block, ticket, time, item);
        self.pending.push_back(step);
    }

    /// The next step; `None` if only the phase changed.
    fn advance(&mut self) -> Option<Step> {
        match self.phase {
            Phase::Reserve if self.next_item == self.work.items.len() => self.phase = Phase::Drain,
            Phase::Reserve if self.fits() => {
                self.hold(self.work.items[self.next_item].bytes);
                self.phase = Phase::Feed;
                return Some(Step::Spend(self.work.items[self.next_item].read));
            }
            Phase::Reserve => return self.turn_or_wait(),
            Phase::Feed => {
                let ticket = self.hash.open(false);
                self.phase = Phase::Turn;
                self.next_item += 1;
                let item = ticket as usize;
                return Some(self.submit(Stage::Hash, ticket, self.work.items[item].hash, item));
            }
            Phase::Turn => {
                if !self.turn() {
                    self.phase = Phase::Reserve;
                }
            }
            Phase::Drain if self.hash.slots.is_empty() && self.commit.slots.is_empty() => {
                self.phase = Phase::Over;
                return Some(Step::Spend(self.work.tail));
            }
            Phase::Drain => return self.turn_or_wait(),
            Phase::Over => return Some(Step::Finish),
        }
        None
    }

    fn turn_or_wait(&mut self) -> Option<Step> {
        if self.turn() {
            return None;
        }
        self.wanted = [self.hash.want(self.busy), self.commit.want(self.busy)];
        Some(Step::Wait)
    }
}

impl Caller for Packline<'_> {
    fn step(&mut self) -> Step {
        loop {
            if let Some(step) = self.pending.pop_front() {
                return step;
            }
            if let Some(step) = self.advance() {
                return step;
            }
        }
    }

    fn done(&mut self, job: usize) -> bool {
        let (stage, ticket) = self.jobs[job];
        self.ready += 1;
        if stage == Stage::Hash {
            self.hash.fill(ticket);
            return self.wanted[0] == Some(ticket);
        }
        self.commit.fill(ticket);
        // The result is smaller than the input. The caller may wait for the memory that this frees.
        let block = &self.work.blocks[ticket as usize];
        self.held -= block.bytes_in - block.bytes_out;
        let memory = self.phase == Phase::Reserve && self.next_item < self.work.items.len() && self.is_free();
        memory || self.wanted[1] == Some(ticket)
    }

    fn locked(&mut self, _pushed: bool) {}

    fn ready(&self) -> usize {
        self.ready
    }

    fn peak_bytes(&self) -> f64 {
        self.peak
    }
}
