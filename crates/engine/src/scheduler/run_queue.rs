//! One run queue: jobs under a lock, and beside it what others may see of them without it.

use crate::QueueStats;
use crate::histogram::Histogram;
use crate::scheduler::job_queues::{Entry, JobQueues, Owner};
use crate::scheduler::key::Key;
use crate::scheduler::worker_state::Taking;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{self, Mutex, MutexGuard};

/// A queue of jobs, the earliest first.
///
/// Fields in their order in memory. Those read without the lock share its cache line: adding or taking a job writes both, and
/// each cache line that moves from one processor to another costs as much as the lock does.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct RunQueue<J> {
    published: Published,
    inner: Mutex<Inner<J>>,
}

/// The part that is read without the lock. It is rewritten under the lock at each change, so it is never wrong for longer than
/// another thread holds the lock.
#[derive(Debug)]
#[repr(C)]
struct Published {
    /// Key of the earliest job.
    best: AtomicU64,
    len: AtomicUsize,
    /// The latest virtual time of a job that was taken.
    begun: AtomicU64,
    /// Times a thread that tried the lock went on without it.
    passed_by: AtomicU64,
}

#[derive(Debug)]
#[repr(C)]
struct Inner<J> {
    /// These three are counted here, the others of [`QueueStats`] elsewhere.
    locks: u64,
    jobs: u64,
    steals: u64,
    jobs_by_stage: JobQueues<J>,
    contended: u64,
    waits: Histogram,
}

/// A job taken from a queue.
#[derive(Debug)]
pub(crate) struct Taken<J> {
    pub(crate) owner: Owner,
    pub(crate) entry: Entry<J>,
    /// The queue it was in.
    pub(crate) queue: usize,
    /// When it was taken, in nanoseconds of the tracer's clock; 0 without one.
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

    /// The key of the earliest job.
    pub(crate) fn best(&self) -> Key {
        Key::from_bits(self.published.best.load(Ordering::SeqCst))
    }

    /// Whether there is none; may be out of date at once.
    pub(crate) fn is_empty(&self) -> bool {
        self.best() == Key::NONE
    }

    pub(crate) fn len(&self) -> usize {
        self.published.len.load(Ordering::Relaxed)
    }

    /// The latest virtual time of a job that was taken.
    pub(crate) fn begun(&self) -> u64 {
        self.published.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn push(&self, owner: Owner, entry: Entry<J>) {
        let mut inner = self.lock();
        inner.jobs_by_stage.push(owner, entry);
        // A worker that looks for jobs before it sleeps sees the earlier one as well as this one.
        if inner.jobs_by_stage.best() != self.best() {
            self.publish(&inner);
        } else {
            self.published.len.store(inner.jobs_by_stage.len(), Ordering::Relaxed);
        }
    }

    /// Takes the earliest job. `queue` is this queue's number.
    pub(crate) fn take(&self, queue: usize, taking: &Taking<'_>) -> Option<Taken<J>> {
        self.take_from(self.lock(), queue, taking, JobQueues::pop)
    }

    /// Takes the earliest job unless another thread holds the lock: then the queue is passed by.
    pub(crate) fn try_take(&self, queue: usize, taking: &Taking<'_>) -> Option<Taken<J>> {
        let Some(inner) = sync::try_lock(&self.inner) else {
            self.published.passed_by.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.take_from(counted(inner), queue, taking, JobQueues::pop)
    }

    /// Takes the earliest job of `pipeline`.
    pub(crate) fn take_of(&self, pipeline: u64, queue: usize, taking: &Taking<'_>) -> Option<Taken<J>> {
        self.take_from(self.lock(), queue, taking, |jobs_by_stage| jobs_by_stage.pop_of(pipeline))
    }

    fn take_from(
        &self,
        mut inner: MutexGuard<'_, Inner<J>>,
        queue: usize,
        taking: &Taking<'_>,
        pop: impl FnOnce(&mut JobQueues<J>) -> Option<(Owner, Entry<J>)>,
    ) -> Option<Taken<J>> {
        let (owner, entry) = pop(&mut inner.jobs_by_stage)?;
        let now = taking.now();
        inner.jobs += 1;
        inner.steals += u64::from(taking.worker.queue != queue);
        if taking.clock.is_some() {
            inner.waits.add(now.saturating_sub(entry.queued));
        }
        taking.worker.begin_job(owner.pipeline);
        let published = &self.published;
        published.begun.store(self.begun().max(entry.key.time()), Ordering::Relaxed);
        published.len.store(inner.jobs_by_stage.len(), Ordering::Relaxed);
        // Release is enough: a stale value only costs a failed take.
        published.best.store(inner.jobs_by_stage.best().to_bits(), Ordering::Release);
        Some(Taken { owner, entry, queue, now })
    }

    /// Moves a job to [`Class::Now`](crate::Class::Now); false if it is not here or has that class already.
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
        // Outside the lock: a job's own drop may take long, or give back memory.
        drop(gone);
    }

    pub(crate) fn clear_all(&self) {
        let mut inner = self.lock();
        let gone = inner.jobs_by_stage.remove_all();
        self.publish(&inner);
        drop(inner);
        drop(gone);
    }

    /// Its counters; also adds how long jobs waited to `waits`.
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

    fn entry(time: u64, queued: u64) -> Entry<u64> {
        Entry { key: Key::new(Class::Normal, time), ticket: time, item: None, queued, job: time }
    }

    #[test]
    fn its_published_shows_what_is_behind_the_lock() {
        let queue = RunQueue::new();
        let worker = WorkerState::new(1);
        let clock = FixedClock(50);
        let taking = Taking { worker: &worker, clock: Some(&clock) };
        let owner = Owner { pipeline: 3, name: StageName::Hash };
        assert!(queue.is_empty() && queue.take(0, &taking).is_none());
        queue.push(owner, entry(7, 10));
        queue.push(owner, entry(8, 45));
        assert_eq!((queue.best(), queue.len(), queue.begun()), (Key::new(Class::Normal, 7), 2, 0));
        assert_eq!(queue.take(1, &taking).map(|taken| taken.entry.job), Some(7));
        assert_eq!((queue.len(), queue.begun(), worker.pipeline()), (1, 7, 3));
        assert!(queue.take_of(4, 0, &taking).is_none());
        assert_eq!(queue.take_of(3, 0, &taking).map(|taken| taken.entry.job), Some(8));
        let stats = queue.stats(&mut Histogram::default());
        assert_eq!((stats.jobs, stats.steals, stats.locks, stats.contended), (2, 1, 6, 0));
        assert_eq!((stats.longest_wait_ns, stats.p999_wait_ns), (40, 40));
    }

    #[test]
    fn a_held_queue_is_passed_by() {
        let queue = RunQueue::new();
        let worker = WorkerState::new(0);
        let taking = Taking { worker: &worker, clock: None };
        queue.push(Owner { pipeline: 0, name: StageName::Hash }, entry(0, 0));
        let held = queue.lock();
        assert!(queue.try_take(0, &taking).is_none());
        drop(held);
        assert!(queue.try_take(0, &taking).is_some());
        assert_eq!(queue.stats(&mut Histogram::default()).contended, 1);
    }
}
