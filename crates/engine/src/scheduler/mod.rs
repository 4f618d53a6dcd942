//! Finds the next job of a worker, and the worker to wake for a new job.

pub(crate) mod idle_workers;
pub(crate) mod job_queues;
pub(crate) mod key;
pub(crate) mod queues;
pub(crate) mod run_queue;
pub(crate) mod topology;
pub(crate) mod worker_state;

use std::sync::Arc;

use crate::stats::histogram::Histogram;
use crate::{Policy, QueueStats, sync};
use idle_workers::{IdleWorkers, WorkerParker};
use job_queues::{Owner, QueuedJob};
use queues::Queues;
use run_queue::TakenJob;
use worker_state::Taker;

/// The run queues of a pool, and the workers that wait for a job.
#[derive(Debug)]
pub(crate) struct Scheduler<J> {
    pub(crate) queues: Queues<J>,
    idle: IdleWorkers,
}

impl<J> Scheduler<J> {
    /// `queues` run queues, at least one.
    pub(crate) fn new(queues: usize, policy: Policy) -> Self {
        Self { queues: Queues::new(queues, policy), idle: IdleWorkers::new(queues.max(1)) }
    }

    /// Adds a job to `queue` and wakes a worker if one is needed.
    pub(crate) fn push(&self, queue: usize, owner: Owner, entry: QueuedJob<J>) {
        self.queues.push(queue, owner, entry);
        self.idle.notify(queue);
    }

    /// Sleeps until there is a job and takes it. Returns `None` when `changed` returns true; the thread that makes it true
    /// must call `wake_all` afterwards.
    pub(crate) fn next(
        &self,
        taker: &Taker<'_>,
        parker: &Arc<WorkerParker>,
        changed: &dyn Fn() -> bool,
    ) -> Option<TakenJob<J>> {
        if let Some(taken) = self.queues.take(taker) {
            return Some(taken);
        }
        let since = taker.now();
        let taken = self.wait(taker, parker, changed);
        let now = taken.as_ref().map_or_else(|| taker.now(), |taken| taken.now);
        taker.worker.add_idle(now.saturating_sub(since));
        taken
    }

    /// Searches or sleeps until there is a job or `changed` returns true.
    fn wait(&self, taker: &Taker<'_>, parker: &Arc<WorkerParker>, changed: &dyn Fn() -> bool) -> Option<TakenJob<J>> {
        let mut searcher = self.idle.search();
        loop {
            let taken = if searcher { self.spin_and_take(taker) } else { self.queues.take(taker) };
            if taken.is_some() || changed() {
                match (searcher, self.queues.first()) {
                    (true, _) => self.idle.end_search(|| self.queues.first()),
                    // The thread that added the remaining job may have seen this worker as the searcher, and woken no worker.
                    (false, Some(queue)) if taken.is_some() => self.idle.notify(queue),
                    (false, _) => {}
                }
                return taken;
            }
            taker.worker.count_park();
            searcher = self.idle.sleep(parker, searcher, || self.queues.first().is_some() || changed());
        }
    }

    /// Takes a job if one arrives during a bounded spin.
    fn spin_and_take(&self, taker: &Taker<'_>) -> Option<TakenJob<J>> {
        for _ in 0..sync::SPINS {
            if self.queues.first().is_some() {
                break;
            }
            sync::hint::spin_loop();
        }
        self.queues.take(taker)
    }

    /// Wakes every sleeping worker, to check for a change.
    pub(crate) fn wake_all(&self) {
        self.idle.wake_all();
    }

    /// Counters of each queue, and the waiting times of all jobs.
    pub(crate) fn stats(&self) -> (Vec<QueueStats>, Histogram) {
        let (mut stats, waits) = self.queues.stats();
        stats.iter_mut().zip(self.idle.wakes()).for_each(|(queue, wakes)| queue.wakes = wakes);
        (stats, waits)
    }

    /// Times the list of sleepers was locked, and times another thread held the lock.
    pub(crate) fn sleeper_locks(&self) -> (u64, u64) {
        self.idle.lock_counts()
    }

    #[cfg(test)]
    pub(crate) fn sleepers(&self) -> usize {
        self.idle.sleepers()
    }
}
