//! The state of a thread that takes jobs, as other threads see it.

use crate::Tracer;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Written only by its own thread.
#[derive(Debug)]
pub(crate) struct WorkerState {
    /// The thread's own queue.
    pub(crate) queue: usize,
    /// Id of the stage whose job this thread took last (0 = none). Stored while holding the queue lock: a closer that drained
    /// the queues under those locks therefore sees every worker that still runs one of its jobs.
    stage: AtomicU64,
    /// Number of closed stages that this thread has seen.
    seen_epoch: AtomicU64,
    jobs: AtomicU64,
    parks: AtomicU64,
    idle_ns: AtomicU64,
}

impl WorkerState {
    /// A thread whose own queue is `queue`.
    pub(crate) fn new(queue: usize) -> Self {
        let zero = || AtomicU64::new(0);
        Self { queue, stage: zero(), seen_epoch: zero(), jobs: zero(), parks: zero(), idle_ns: zero() }
    }

    /// Id of the stage whose job it took last.
    #[cfg(test)]
    pub(crate) fn stage(&self) -> u64 {
        self.stage.load(Ordering::SeqCst)
    }

    /// Whether it may be running a job of `stage`, which is one of the first `epoch` closed stages.
    pub(crate) fn may_run(&self, stage: u64, epoch: u64) -> bool {
        self.stage.load(Ordering::SeqCst) == stage && self.seen_epoch() < epoch
    }

    /// Number of closed stages that it has seen.
    pub(crate) fn seen_epoch(&self) -> u64 {
        self.seen_epoch.load(Ordering::SeqCst)
    }

    /// Records that it has seen the first `epoch` closed stages.
    pub(crate) fn set_seen_epoch(&self, epoch: u64) {
        self.seen_epoch.store(epoch, Ordering::SeqCst);
    }

    /// Records that it has taken a job of `stage`.
    pub(crate) fn begin_job(&self, stage: u64) {
        self.stage.store(stage, Ordering::Relaxed);
        add(&self.jobs, 1);
    }

    /// Counts a sleep.
    pub(crate) fn count_park(&self) {
        add(&self.parks, 1);
    }

    /// Adds `ns` nanoseconds without a job.
    pub(crate) fn add_idle(&self, ns: u64) {
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

/// Adds to a counter that no other thread writes.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// The thread that takes a job, and its clock.
#[derive(Clone, Copy)]
pub(crate) struct Taking<'a> {
    pub(crate) worker: &'a WorkerState,
    pub(crate) clock: Option<&'a dyn Tracer>,
}

impl Taking<'_> {
    /// Nanoseconds of the clock; 0 without one.
    pub(crate) fn now(&self) -> u64 {
        self.clock.map_or(0, Tracer::now)
    }
}

/// A clock that always shows the same time, for tests.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct FixedClock(pub(crate) u64);

#[cfg(test)]
impl Tracer for FixedClock {
    fn now(&self) -> u64 {
        self.0
    }
}
