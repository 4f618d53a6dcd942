//! packline's caller: reads, submits the hash stage, decides in order, submits the compress stage, commits in order.
//!
//! The rules are those of `crates/engine`: after each item whatever is ready at the heads of both lanes is committed and
//! decided, one of each in turn; it sleeps only for memory, or at the end; and it lets results gather before it is woken,
//! a quarter of a lane at most, as long as two jobs a worker stay behind, or memory, until a quarter of the window is free.
//! Hash jobs go to the queues in turn, compress jobs to that of the worker which hashed what they are made of. What is decided
//! stands before all that is not. Each item on the line counts with some bytes of the line's own.

use super::{Caller, Job, Step, Window};
use crate::simulate::workload::Workload;
use std::collections::VecDeque;

/// Bytes of the line's own for each item on it: `ENTRY_BYTES` of `crates/engine/src/parallel.rs`. What a container's types take
/// beside is not known.
const ENTRY_BYTES: f64 = 128.0;

/// Commit jobs stand before all hash jobs.
const HASH_LANE: u64 = 1 << 62;

/// The caller's state.
#[derive(Debug)]
pub struct Packline<'a> {
    work: &'a Workload,
    window: Window,
    /// Two jobs for each worker: what has to stay behind a result that is waited for.
    busy: usize,
    phase: Phase,
    next_item: usize,
    next_press: usize,
    hash: Lane,
    press: Lane,
    /// Where each job's result goes.
    jobs: Vec<(Stage, u64)>,
    /// The hash job of each item fed.
    hashed_by: Vec<usize>,
    /// Steps of a decision that are still to come.
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
    Press,
}

/// Results in order; tickets count from 0.
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

    /// Takes the head if it is there: its ticket.
    fn take(&mut self) -> Option<usize> {
        self.slots.front().filter(|ready| **ready)?;
        self.slots.pop_front();
        self.first += 1;
        Some(self.first as usize - 1)
    }

    /// The ticket whose result a sleeping caller wants.
    fn want(&self, busy: usize) -> Option<u64> {
        let ahead = self.slots.len().saturating_sub(busy).min(self.slots.len() / 4);
        let missing = [ahead, 0].into_iter().find(|&at| self.slots.get(at) == Some(&false))?;
        Some(self.first + missing as u64)
    }
}

impl<'a> Packline<'a> {
    /// The caller before its first item.
    pub fn new(work: &'a Workload, window: Window, workers: usize) -> Self {
        Self {
            work,
            window,
            busy: 2 * workers,
            phase: Phase::Reserve,
            next_item: 0,
            next_press: 0,
            hash: Lane::default(),
            press: Lane::default(),
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
                Window::Items(most) => items < most,
                Window::Bytes(most) => self.held + bytes + self.overhead() <= most,
            }
    }

    fn items(&self) -> usize {
        self.hash.slots.len() + self.press.slots.len()
    }

    fn overhead(&self) -> f64 {
        self.items() as f64 * ENTRY_BYTES
    }

    /// Whether so much is free that a caller which sleeps for memory is woken.
    fn is_free(&self) -> bool {
        let Window::Bytes(most) = self.window else { return false };
        let room = most - self.work.items[self.next_item].bytes - self.overhead();
        room >= 0.0 && self.held <= room.min(most * 0.75)
    }

    fn hold(&mut self, bytes: f64) {
        self.held += bytes;
        self.peak = self.peak.max(self.held);
    }

    /// A hash job, or the compress job that the decision on `item` hands on.
    fn submit(&mut self, stage: Stage, ticket: u64, time: f64, item: usize) -> Step {
        let number = self.jobs.len();
        self.jobs.push((stage, ticket));
        Step::Submit(match stage {
            Stage::Hash => {
                self.hashed_by.push(number);
                Job { place: HASH_LANE | ticket, hash: time, compress: 0.0, after: None }
            }
            Stage::Press => Job { place: ticket, hash: 0.0, compress: time, after: Some(self.hashed_by[item]) },
        })
    }

    /// Commits one and decides one, if they are there: whether there was anything.
    fn turn(&mut self) -> bool {
        let committed = self.commit();
        let decided = self.decide();
        committed || decided
    }

    fn commit(&mut self) -> bool {
        let Some(ticket) = self.press.take() else { return false };
        let press = &self.work.presses[ticket];
        self.ready -= 1;
        self.held -= press.bytes_out;
        self.pending.push_back(Step::Spend(press.commit));
        true
    }

    fn decide(&mut self) -> bool {
        let Some(ticket) = self.hash.take() else { return false };
        let item = &self.work.items[ticket];
        self.ready -= 1;
        self.pending.push_back(Step::Spend(item.decide));
        self.held -= item.bytes;
        for _ in 0..item.presses {
            self.hand_on(ticket);
        }
        true
    }

    fn hand_on(&mut self, item: usize) {
        let press = &self.work.presses[self.next_press];
        self.next_press += 1;
        let Some(time) = press.compress else {
            self.hold(press.bytes_out);
            self.press.open(true);
            self.ready += 1;
            return;
        };
        self.hold(press.bytes_in);
        let ticket = self.press.open(false);
        let step = self.submit(Stage::Press, ticket, time, item);
        self.pending.push_back(step);
    }

    /// The next step of feeding one item, or of the end; `None` if only the phase changed.
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
            Phase::Drain if self.hash.slots.is_empty() && self.press.slots.is_empty() => {
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
        self.wanted = [self.hash.want(self.busy), self.press.want(self.busy)];
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
        self.press.fill(ticket);
        // The worker gives back what the result is smaller by; that may be what the caller waits for.
        let press = &self.work.presses[ticket as usize];
        self.held -= press.bytes_in - press.bytes_out;
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
