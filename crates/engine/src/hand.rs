//! A thread that takes jobs, as others see it.

use crate::Tracer;
use crate::sync::atomic::{AtomicU64, Ordering};

/// What a thread that takes jobs lets others know. Only that thread writes it.
#[derive(Debug)]
pub(crate) struct Hand {
    /// Its own queue.
    pub(crate) queue: usize,
    /// The line whose job it took last; 0 for none. Written under the lock of the queue the job was in, so that who has
    /// removed a line's jobs under the same locks sees everyone who took one before.
    works_for: AtomicU64,
    /// How many closed lines it has heard of.
    heard: AtomicU64,
    jobs: AtomicU64,
    parks: AtomicU64,
    idle_ns: AtomicU64,
}

impl Hand {
    /// A thread whose own queue is `queue`.
    pub(crate) fn new(queue: usize) -> Self {
        let zero = || AtomicU64::new(0);
        Self { queue, works_for: zero(), heard: zero(), jobs: zero(), parks: zero(), idle_ns: zero() }
    }

    /// The line whose job it took last.
    #[cfg(test)]
    pub(crate) fn works_for(&self) -> u64 {
        self.works_for.load(Ordering::SeqCst)
    }

    /// Whether it may be running a job of `line`, one of the first `closings` closed lines.
    pub(crate) fn may_work_for(&self, line: u64, closings: u64) -> bool {
        self.works_for.load(Ordering::SeqCst) == line && self.heard() < closings
    }

    /// How many closed lines it has heard of.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Ordering::SeqCst)
    }

    /// It has heard of that many closed lines.
    pub(crate) fn hears(&self, closings: u64) {
        self.heard.store(closings, Ordering::SeqCst);
    }

    /// It has taken a job of `line`.
    pub(crate) fn begins_for(&self, line: u64) {
        self.works_for.store(line, Ordering::Relaxed);
        add(&self.jobs, 1);
    }

    /// It goes to sleep.
    pub(crate) fn parks(&self) {
        add(&self.parks, 1);
    }

    /// It had nothing to do for `ns` nanoseconds.
    pub(crate) fn was_idle(&self, ns: u64) {
        add(&self.idle_ns, ns);
    }

    /// Its counters.
    pub(crate) fn stats(&self) -> crate::WorkerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        crate::WorkerStats {
            queue: self.queue,
            jobs: read(&self.jobs),
            parks: read(&self.parks),
            idle_ns: read(&self.idle_ns),
        }
    }
}

/// Adds to a counter that nobody else writes.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Who takes a job, and what clock it goes by.
#[derive(Clone, Copy)]
pub(crate) struct Taker<'a> {
    pub(crate) hand: &'a Hand,
    pub(crate) clock: Option<&'a dyn Tracer>,
}

impl Taker<'_> {
    /// Nanoseconds of the clock; 0 without one.
    pub(crate) fn now(&self) -> u64 {
        self.clock.map_or(0, Tracer::now)
    }
}

/// A clock that stands still, for tests.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Stopped(pub(crate) u64);

#[cfg(test)]
impl Tracer for Stopped {
    fn now(&self) -> u64 {
        self.0
    }
}
