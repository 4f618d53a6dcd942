//! The state of a thread that takes jobs, which other threads read.

use crate::Tracer;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Only the worker's own thread writes the fields; others read them.
#[derive(Debug)]
pub(crate) struct WorkerState {
    /// The thread's own queue.
    pub(crate) queue: usize,
    /// Number of the pipeline whose job this thread took last; 0 for none. Stored under the queue's lock: a caller that closes
    /// its pipeline empties the queues under those locks, and so sees every worker that still runs one of its jobs.
    pipeline: AtomicU64,
    /// Number of closed pipelines that this thread has seen.
    seen_epoch: AtomicU64,
    jobs: AtomicU64,
    parks: AtomicU64,
    idle_ns: AtomicU64,
}

impl WorkerState {
    pub(crate) fn new(queue: usize) -> Self {
        let zero = || AtomicU64::new(0);
        Self { queue, pipeline: zero(), seen_epoch: zero(), jobs: zero(), parks: zero(), idle_ns: zero() }
    }

    #[cfg(test)]
    pub(crate) fn pipeline(&self) -> u64 {
        self.pipeline.load(Ordering::SeqCst)
    }

    /// Whether the thread may be running a job of `pipeline`, which is one of the first `epoch` closed pipelines.
    pub(crate) fn may_run(&self, pipeline: u64, epoch: u64) -> bool {
        self.pipeline.load(Ordering::SeqCst) == pipeline && self.seen_epoch() < epoch
    }

    pub(crate) fn seen_epoch(&self) -> u64 {
        self.seen_epoch.load(Ordering::SeqCst)
    }

    pub(crate) fn set_seen_epoch(&self, epoch: u64) {
        self.seen_epoch.store(epoch, Ordering::SeqCst);
    }

    pub(crate) fn begin_job(&self, pipeline: u64) {
        self.pipeline.store(pipeline, Ordering::Relaxed);
        add(&self.jobs, 1);
    }

    pub(crate) fn count_park(&self) {
        add(&self.parks, 1);
    }

    /// Adds `ns` nanoseconds without a job.
    pub(crate) fn add_idle(&self, ns: u64) {
        add(&self.idle_ns, ns);
    }

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

#[derive(Clone, Copy)]
pub(crate) struct Taker<'a> {
    pub(crate) worker: &'a WorkerState,
    pub(crate) clock: Option<&'a dyn Tracer>,
}

impl Taker<'_> {
    /// The time of the clock; 0 without one.
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
