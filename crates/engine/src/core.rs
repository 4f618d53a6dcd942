//! What the workers of a pool and the lines on it share.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Scheduling;
use crate::desk::AnyLine;
use crate::dispatch::Dispatch;
use crate::hand::{Hand, Taker};
use crate::histogram::Histogram;
use crate::rows::{Entry, Owner};
use crate::run_queue::Taken;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{self, Condvar, Mutex, Padded};
use crate::task::Job;
use crate::{QueueStats, Tracer, WorkerStats};

/// The queues, the workers' hands, and the lines.
pub(crate) struct Core {
    pub(crate) dispatch: Dispatch<Job>,
    hands: Box<[Padded<Hand>]>,
    lines: Mutex<Lines>,
    /// How many lines there are now: with one, virtual time needs no clock.
    count: AtomicUsize,
    /// How many lines have been closed.
    closings: AtomicU64,
    /// The workers go home.
    closed: AtomicBool,
    /// Rung by a worker that has heard of a closed line.
    heard: (Mutex<()>, Condvar),
    tracer: Option<Arc<dyn Tracer>>,
    /// Its number in events.
    number: u64,
}

struct Lines {
    by_number: BTreeMap<u64, Arc<dyn AnyLine>>,
    /// The number of the line made last; they begin with 1.
    last: u64,
}

impl Core {
    /// The core of a pool of `workers` workers.
    pub(crate) fn new(workers: usize, scheduling: &Scheduling, tracer: Option<Arc<dyn Tracer>>) -> Self {
        let queues = scheduling.queues(workers);
        let count = queues.iter().max().map_or(1, |last| last + 1);
        let dispatch = match scheduling.plain {
            true => Dispatch::plain(),
            false => Dispatch::ordered(count, scheduling.policy),
        };
        Self {
            dispatch,
            hands: queues.into_iter().map(|queue| Padded(Hand::new(queue))).collect(),
            lines: Mutex::new(Lines { by_number: BTreeMap::new(), last: 0 }),
            count: AtomicUsize::new(0),
            closings: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            heard: (Mutex::new(()), Condvar::new()),
            number: tracer.as_ref().map_or(0, |tracer| tracer.pool()),
            tracer,
        }
    }

    /// The hand of worker `number`, counted from 1.
    pub(crate) fn hand(&self, number: usize) -> &Hand {
        &self.hands[number - 1].0
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.hands.len()
    }

    /// The clock and the book.
    pub(crate) fn tracer(&self) -> Option<&dyn Tracer> {
        self.tracer.as_deref()
    }

    /// The pool's number in events; 0 without a tracer.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Now; 0 without a clock.
    pub(crate) fn now(&self) -> u64 {
        self.tracer().map_or(0, Tracer::now)
    }

    /// Adds a line: its number, and the virtual time it begins at.
    pub(crate) fn open_line(&self, line: Arc<dyn AnyLine>) -> (u64, u64) {
        let mut lines = sync::lock(&self.lines);
        lines.last += 1;
        let number = lines.last;
        lines.by_number.insert(number, line);
        drop(lines);
        self.count.fetch_add(1, Ordering::Relaxed);
        (number, self.dispatch.present())
    }

    /// The line of that number, if it has not ended.
    pub(crate) fn line(&self, number: u64) -> Option<Arc<dyn AnyLine>> {
        sync::lock(&self.lines).by_number.get(&number).cloned()
    }

    /// Drops what a line, already marked as closed, has queued, and waits for what runs. Workers let go of their tools
    /// for it, those busy with other lines' jobs a little later.
    pub(crate) fn close_line(&self, number: u64) {
        self.dispatch.clear(number);
        let closings = self.closings.fetch_add(1, Ordering::SeqCst) + 1;
        self.dispatch.wake_all();
        let mut guard = sync::lock(&self.heard.0);
        while self.hands.iter().any(|hand| hand.0.may_work_for(number, closings)) {
            guard = self.heard.1.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(guard);
        self.count.fetch_sub(1, Ordering::Relaxed);
        let line = sync::lock(&self.lines).by_number.remove(&number);
        drop(line);
    }

    /// Whether lines were closed since `hand` looked last; how many in all then.
    pub(crate) fn news(&self, hand: &Hand) -> Option<u64> {
        Some(self.closings.load(Ordering::SeqCst)).filter(|&closings| closings != hand.heard())
    }

    /// Notes that `hand` has let go of the first `closings` closed lines.
    pub(crate) fn acknowledge(&self, hand: &Hand, closings: u64) {
        hand.hears(closings);
        let _ordered = sync::lock(&self.heard.0);
        self.heard.1.notify_all();
    }

    /// Makes as if every worker had heard of the ends of all lines to come.
    #[cfg(test)]
    pub(crate) fn forget_hands(&self) {
        self.hands.iter().for_each(|hand| hand.0.hears(u64::MAX));
    }

    /// Whether the workers are to go home.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Drops every job and sends the workers home.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.dispatch.clear_all();
        self.dispatch.wake_all();
    }

    /// Queues a job.
    pub(crate) fn push(&self, queue: usize, owner: Owner, entry: Entry<Job>) {
        self.dispatch.push(queue, owner, entry);
    }

    /// Takes the earliest queued job of `line`, for its caller.
    pub(crate) fn take_of(&self, line: u64, hand: &Hand) -> Option<Taken<Job>> {
        self.dispatch.take_of(line, &Taker { hand, clock: self.tracer() })
    }

    /// Whether several lines share the workers.
    pub(crate) fn is_shared(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 1
    }

    /// Counters of the queues, with how long all jobs waited.
    pub(crate) fn queue_stats(&self) -> (Vec<QueueStats>, Histogram) {
        self.dispatch.stats()
    }

    /// Counters of the workers.
    pub(crate) fn worker_stats(&self) -> Vec<WorkerStats> {
        self.hands.iter().map(|hand| hand.0.stats()).collect()
    }
}
