//! One run queue: jobs under a lock, and next to the lock the values that other threads read without it.

use crate::QueueStats;
use crate::scheduler::job_queues::{JobQueues, Owner, QueuedJob};
use crate::scheduler::key::Key;
use crate::scheduler::worker_state::Taker;
use crate::stats::histogram::Histogram;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{self, Mutex, MutexGuard};

/// A queue of jobs, the earliest first. Callers and workers share it.
///
/// The fields are in their order in memory. Fields read without the lock share the lock's cache line, because adding or taking
/// a job writes both, and each cache line that moves between processors costs as much as the lock.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct RunQueue<J> {
    published: Published,
    inner: Mutex<Inner<J>>,
}

/// Values that any thread reads without the lock. All but `passed_by` are written only under the lock, at each change, so they
/// are never wrong for longer than another thread holds the lock.
#[derive(Debug)]
#[repr(C)]
struct Published {
    /// The key of the earliest job.
    best: AtomicU64,
    len: AtomicUsize,
    /// The latest virtual time of a job taken from the queue.
    begun: AtomicU64,
    /// Number of times that a thread found the lock held and continued without it. Written without the lock.
    passed_by: AtomicU64,
}

/// Read and written only under the lock. `locks`, `jobs`, `steals` and `contended` are counters of [`QueueStats`].
#[derive(Debug)]
#[repr(C)]
struct Inner<J> {
    locks: u64,
    jobs: u64,
    steals: u64,
    jobs_by_stage: JobQueues<J>,
    contended: u64,
    waits: Histogram,
}

/// A job taken from a queue.
#[derive(Debug)]
pub(crate) struct TakenJob<J> {
    pub(crate) owner: Owner,
    pub(crate) entry: QueuedJob<J>,
    /// The queue it was taken from.
    pub(crate) queue: usize,
    /// The time it was taken, in nanoseconds of the tracer's clock; 0 without one.
    pub(crate) now: u64,
}

impl<J> RunQueue<J> {
    pub(crate) fn new() -> Self {
        let published = Published {
            best: AtomicU64::new(Key::NONE.to_bits()),
            len: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            passed_by: AtomicU64::new(0),
        };
        let jobs_by_stage = JobQueues::new();
        let waits = Histogram::default();
        Self {
            published,
            inner: Mutex::new(Inner { locks: 0, jobs: 0, steals: 0, jobs_by_stage, contended: 0, waits }),
        }
    }

    pub(crate) fn best(&self) -> Key {
        Key::from_bits(self.published.best.load(Ordering::SeqCst))
    }

    /// Whether the queue has no job. Without the lock the answer may be out of date at once.
    pub(crate) fn is_empty(&self) -> bool {
        self.best() == Key::NONE
    }

    pub(crate) fn len(&self) -> usize {
        self.published.len.load(Ordering::Relaxed)
    }

    pub(crate) fn begun(&self) -> u64 {
        self.published.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn push(&self, owner: Owner, entry: QueuedJob<J>) {
        let mut inner = self.lock();
        inner.jobs_by_stage.push(owner, entry);
        // If an earlier job is published already, a worker that looks for jobs before it sleeps sees that job.
        if inner.jobs_by_stage.best() != self.best() {
            self.publish(&inner);
        } else {
            self.published.len.store(inner.jobs_by_stage.len(), Ordering::Relaxed);
        }
    }

    /// Takes the earliest job. `queue` is this queue's number.
    pub(crate) fn take(&self, queue: usize, taker: &Taker<'_>) -> Option<TakenJob<J>> {
        self.take_from(self.lock(), queue, taker, JobQueues::pop)
    }

    /// Takes the earliest job, but skips the queue if another thread holds the lock.
    pub(crate) fn try_take(&self, queue: usize, taker: &Taker<'_>) -> Option<TakenJob<J>> {
        let Some(inner) = sync::try_lock(&self.inner) else {
            self.published.passed_by.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.take_from(counted(inner), queue, taker, JobQueues::pop)
    }

    /// Takes the earliest job of `pipeline`.
    pub(crate) fn take_of(&self, pipeline: u64, queue: usize, taker: &Taker<'_>) -> Option<TakenJob<J>> {
        self.take_from(self.lock(), queue, taker, |jobs_by_stage| jobs_by_stage.pop_of(pipeline))
    }

    fn take_from(
        &self,
        mut inner: MutexGuard<'_, Inner<J>>,
        queue: usize,
        taker: &Taker<'_>,
        pop: impl FnOnce(&mut JobQueues<J>) -> Option<(Owner, QueuedJob<J>)>,
    ) -> Option<TakenJob<J>> {
        let (owner, entry) = pop(&mut inner.jobs_by_stage)?;
        let now = taker.now();
        inner.jobs += 1;
        inner.steals += u64::from(taker.worker.queue != queue);
        if taker.clock.is_some() {
            inner.waits.add(now.saturating_sub(entry.queued));
        }
        taker.worker.begin_job(owner.pipeline);
        let published = &self.published;
        published.begun.store(self.begun().max(entry.key.time()), Ordering::Relaxed);
        published.len.store(inner.jobs_by_stage.len(), Ordering::Relaxed);
        // Release is enough: a stale value only costs a failed take.
        published.best.store(inner.jobs_by_stage.best().to_bits(), Ordering::Release);
        Some(TakenJob { owner, entry, queue, now })
    }

    /// Moves a job to [`Class::Now`](crate::Class::Now); false if it is not in this queue or has that class already.
    pub(crate) fn promote(&self, owner: Owner, ticket: u64) -> bool {
        let mut inner = self.lock();
        let promoted = inner.jobs_by_stage.promote(owner, ticket);
        self.publish(&inner);
        promoted
    }

    pub(crate) fn clear(&self, pipeline: u64) {
        let mut inner = self.lock();
        let gone = inner.jobs_by_stage.remove(pipeline);
        self.publish(&inner);
        drop(inner);
        // Outside the lock: the drop of a job may take long, or return memory.
        drop(gone);
    }

    pub(crate) fn clear_all(&self) {
        let mut inner = self.lock();
        let gone = inner.jobs_by_stage.remove_all();
        self.publish(&inner);
        drop(inner);
        drop(gone);
    }

    /// Returns the queue's counters, and adds the waiting times of its jobs to `waits`.
    pub(crate) fn stats(&self, waits: &mut Histogram) -> QueueStats {
        let inner = sync::lock(&self.inner);
        waits.merge(&inner.waits);
        QueueStats {
            jobs: inner.jobs,
            locks: inner.locks,
            contended: inner.contended + self.published.passed_by.load(Ordering::Relaxed),
            wakes: 0,
            steals: inner.steals,
            longest_wait_ns: inner.waits.longest(),
            p999_wait_ns: inner.waits.p999(),
        }
    }

    fn publish(&self, inner: &Inner<J>) {
        let published = &self.published;
        published.len.store(inner.jobs_by_stage.len(), Ordering::Relaxed);
        // Read by workers that are about to sleep; see `IdleWorkers`.
        published.best.store(inner.jobs_by_stage.best().to_bits(), Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Inner<J>> {
        match sync::try_lock(&self.inner) {
            Some(inner) => counted(inner),
            None => {
                let mut inner = counted(sync::lock(&self.inner));
                inner.contended += 1;
                inner
            }
        }
    }
}

fn counted<J>(mut inner: MutexGuard<'_, Inner<J>>) -> MutexGuard<'_, Inner<J>> {
    inner.locks += 1;
    inner
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Class;
    use crate::scheduler::job_queues::StageName;
    use crate::scheduler::worker_state::{FixedClock, WorkerState};

    fn entry(time: u64, queued: u64) -> QueuedJob<u64> {
        QueuedJob { key: Key::new(Class::Normal, time), ticket: time, item: None, queued, job: time }
    }

    #[test]
    fn publishes_the_state_under_the_lock() {
        let queue = RunQueue::new();
        let worker = WorkerState::new(1);
        let clock = FixedClock(50);
        let taker = Taker { worker: &worker, clock: Some(&clock) };
        let owner = Owner { pipeline: 3, name: StageName::Hash };
        assert!(queue.is_empty() && queue.take(0, &taker).is_none());
        queue.push(owner, entry(7, 10));
        queue.push(owner, entry(8, 45));
        assert_eq!((queue.best(), queue.len(), queue.begun()), (Key::new(Class::Normal, 7), 2, 0));
        assert_eq!(queue.take(1, &taker).map(|taken| taken.entry.job), Some(7));
        assert_eq!((queue.len(), queue.begun(), worker.pipeline()), (1, 7, 3));
        assert!(queue.take_of(4, 0, &taker).is_none());
        assert_eq!(queue.take_of(3, 0, &taker).map(|taken| taken.entry.job), Some(8));
        let stats = queue.stats(&mut Histogram::default());
        assert_eq!((stats.jobs, stats.steals, stats.locks, stats.contended), (2, 1, 6, 0));
        assert_eq!((stats.longest_wait_ns, stats.p999_wait_ns), (40, 40));
    }

    #[test]
    fn try_take_skips_a_locked_queue() {
        let queue = RunQueue::new();
        let worker = WorkerState::new(0);
        let taker = Taker { worker: &worker, clock: None };
        queue.push(Owner { pipeline: 0, name: StageName::Hash }, entry(0, 0));
        let held = queue.lock();
        assert!(queue.try_take(0, &taker).is_none());
        drop(held);
        assert!(queue.try_take(0, &taker).is_some());
        assert_eq!(queue.stats(&mut Histogram::default()).contended, 1);
    }
}
