//! All run queues of a pool, and the choice of the queue that a worker takes from.

use crate::scheduler::job_queues::{Owner, QueuedJob};
use crate::scheduler::key::Key;
use crate::scheduler::run_queue::{RunQueue, TakenJob};
use crate::scheduler::worker_state::Taker;
use crate::stats::histogram::Histogram;
use crate::{Policy, QueueStats};

/// Run queues, each under its own lock.
#[derive(Debug)]
pub(crate) struct Queues<J> {
    queues: Box<[RunQueue<J>]>,
    policy: Policy,
}

impl<J> Queues<J> {
    /// `count` empty queues, but at least one.
    pub(crate) fn new(count: usize, policy: Policy) -> Self {
        Self { queues: (0..count.max(1)).map(|_| RunQueue::new()).collect(), policy }
    }

    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }

    pub(crate) fn push(&self, queue: usize, owner: Owner, entry: QueuedJob<J>) {
        self.queues[queue].push(owner, entry);
    }

    /// The first queue that has a job.
    pub(crate) fn first(&self) -> Option<usize> {
        self.queues.iter().position(|queue| !queue.is_empty())
    }

    /// The present: the latest virtual time of a job taken from any queue.
    pub(crate) fn present(&self) -> u64 {
        self.queues.iter().map(RunQueue::begun).max().unwrap_or(0)
    }

    /// Takes a job by the policy, unless none is visible.
    ///
    /// A queue whose lock is held is skipped, because another thread takes its first job. The worker waits for a lock (of the
    /// queue with the earliest job) only if the locks of all queues with jobs are held.
    pub(crate) fn take(&self, taker: &Taker<'_>) -> Option<TakenJob<J>> {
        if self.len() == 1 {
            let queue = &self.queues[0];
            return if queue.is_empty() { None } else { queue.take(0, taker) };
        }
        if self.policy == Policy::Local
            && let Some(taken) = self.take_local(taker)
        {
            return Some(taken);
        }
        let mut skipped = None;
        while let Some(next) = self.earliest_after(skipped, taker.worker.queue) {
            if let Some(taken) = self.queues[next.queue].try_take(next.queue, taker) {
                return Some(taken);
            }
            skipped = Some(next);
        }
        let first = self.earliest_after(None, taker.worker.queue)?;
        self.queues[first.queue].take(first.queue, taker)
    }

    /// Takes from the worker's own queue, unless another queue is longer and its first job is earlier.
    fn take_local(&self, taker: &Taker<'_>) -> Option<TakenJob<J>> {
        let own = &self.queues[taker.worker.queue];
        let best = own.best();
        let len = own.len();
        let longer = |queue: &RunQueue<J>| queue.len() > len && queue.best() < best;
        if best == Key::NONE || self.queues.iter().any(longer) {
            return None;
        }
        own.try_take(taker.worker.queue, taker)
    }

    /// The queue with the earliest job after `skipped`. Among equals, the taker's own queue comes first, then the queues after it.
    fn earliest_after(&self, skipped: Option<Candidate>, own: usize) -> Option<Candidate> {
        let count = self.len();
        let seen = (0..count).map(|distance| {
            let queue = (own + distance) % count;
            Candidate { key: self.queues[queue].best(), distance, queue }
        });
        seen.filter(|candidate| candidate.key != Key::NONE && skipped.is_none_or(|skipped| *candidate > skipped)).min()
    }

    /// Takes the earliest visible job of `pipeline`, for its caller.
    pub(crate) fn take_of(&self, pipeline: u64, taker: &Taker<'_>) -> Option<TakenJob<J>> {
        let mut numbers: Vec<(Key, usize)> = self.queues.iter().map(RunQueue::best).zip(0..).collect();
        numbers.sort_unstable();
        let with_jobs = numbers.into_iter().filter(|&(key, _)| key != Key::NONE);
        with_jobs.map(|(_, queue)| queue).find_map(|queue| self.queues[queue].take_of(pipeline, queue, taker))
    }

    /// Moves a job to [`Class::Now`](crate::Class::Now), if it is still queued; returns its queue.
    pub(crate) fn promote(&self, owner: Owner, ticket: u64) -> Option<usize> {
        (0..self.len()).find(|&queue| !self.queues[queue].is_empty() && self.queues[queue].promote(owner, ticket))
    }

    pub(crate) fn clear(&self, pipeline: u64) {
        self.queues.iter().for_each(|queue| queue.clear(pipeline));
    }

    pub(crate) fn clear_all(&self) {
        self.queues.iter().for_each(RunQueue::clear_all);
    }

    /// Counters of each queue, and the waiting times of all jobs.
    pub(crate) fn stats(&self) -> (Vec<QueueStats>, Histogram) {
        let mut waits = Histogram::default();
        let stats = self.queues.iter().map(|queue| queue.stats(&mut waits)).collect();
        (stats, waits)
    }
}

/// A queue with its earliest job, as a searching thread sees it without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    key: Key,
    /// Distance from the taker's own queue.
    distance: usize,
    queue: usize,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Class;
    use crate::scheduler::job_queues::StageName;
    use crate::scheduler::worker_state::WorkerState;

    const OWNER: Owner = Owner { pipeline: 0, name: StageName::Hash };

    fn entry(time: u64) -> QueuedJob<u64> {
        QueuedJob { key: Key::new(Class::Normal, time), ticket: time, item: None, queued: 0, job: time }
    }

    /// The jobs that a worker of queue `own` takes, in their order.
    fn taken(queues: &Queues<u64>, own: usize) -> Vec<u64> {
        let worker = WorkerState::new(own);
        let taker = Taker { worker: &worker, clock: None };
        std::iter::from_fn(|| queues.take(&taker)).map(|taken| taken.entry.job).collect()
    }

    fn spread(policy: Policy, jobs: &[(usize, u64)]) -> Queues<u64> {
        let queues = Queues::new(3, policy);
        jobs.iter().for_each(|&(queue, time)| queues.push(queue, OWNER, entry(time)));
        queues
    }

    #[test]
    fn the_earliest_of_all_queues_comes_first() {
        let jobs = [(0, 5), (1, 0), (2, 1), (1, 2), (0, 6), (2, 3)];
        assert_eq!(taken(&spread(Policy::Earliest, &jobs), 0), [0, 1, 2, 3, 5, 6]);
        assert!(spread(Policy::Earliest, &[]).first().is_none());
    }

    #[test]
    fn a_local_taker_stays_until_another_queue_is_longer() {
        let jobs = [(0, 5), (0, 6), (1, 0), (1, 1), (1, 2)];
        // Queue 1 is longer and earlier, then both are equally long.
        assert_eq!(taken(&spread(Policy::Local, &jobs), 0), [0, 5, 1, 6, 2]);
        // A longer queue with later jobs is ignored.
        let later = [(0, 0), (1, 1), (1, 2)];
        assert_eq!(taken(&spread(Policy::Local, &later), 0), [0, 1, 2]);
        assert_eq!(taken(&spread(Policy::Local, &later), 2), [0, 1, 2]);
    }

    #[test]
    fn the_present_is_the_latest_time_taken() {
        let queues = spread(Policy::Earliest, &[(0, 5), (1, 9), (2, 2)]);
        assert_eq!(queues.present(), 0);
        taken(&queues, 0);
        assert_eq!(queues.present(), 9);
    }

    #[test]
    fn a_caller_takes_only_its_own_jobs() {
        let queues = spread(Policy::Earliest, &[(0, 5), (1, 0)]);
        let worker = WorkerState::new(0);
        queues.push(2, Owner { pipeline: 1, ..OWNER }, entry(3));
        let taker = Taker { worker: &worker, clock: None };
        let own = |number| queues.take_of(number, &taker).map(|taken| taken.entry.job);
        assert_eq!([own(1), own(1), own(0), own(0), own(0)], [Some(3), None, Some(0), Some(5), None]);
    }

    #[test]
    fn promotes_a_job_in_any_queue() {
        let queues = spread(Policy::Earliest, &[(0, 5), (1, 0), (2, 8)]);
        assert_eq!(
            (queues.promote(OWNER, 8), queues.promote(OWNER, 8), queues.promote(OWNER, 1)),
            (Some(2), None, None)
        );
        assert_eq!(taken(&queues, 0), [8, 0, 5]);
        let (stats, _) = queues.stats();
        assert_eq!(stats.iter().map(|queue| (queue.jobs, queue.steals)).collect::<Vec<_>>(), [(1, 0), (1, 1), (1, 1)]);
    }

    #[test]
    fn clearing_takes_jobs_from_every_queue() {
        let queues = spread(Policy::Local, &[(0, 5), (1, 0), (2, 8)]);
        queues.push(1, Owner { pipeline: 1, ..OWNER }, entry(3));
        queues.clear(0);
        assert_eq!(queues.first(), Some(1));
        assert_eq!(taken(&queues, 0), [3]);
        queues.push(1, OWNER, entry(3));
        queues.clear_all();
        assert_eq!(queues.first(), None);
    }
}
