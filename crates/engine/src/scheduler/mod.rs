//! How a worker finds its next job, and which worker is woken for a new one.

pub(crate) mod idle_workers;
pub(crate) mod job_queues;
pub(crate) mod key;
pub(crate) mod queues;
pub(crate) mod run_queue;
pub(crate) mod topology;
pub(crate) mod worker_parker;
pub(crate) mod worker_state;

use std::sync::Arc;

use crate::histogram::Histogram;
use crate::sync;
use crate::{Policy, QueueStats};
use idle_workers::IdleWorkers;
use job_queues::{Entry, Owner};
use queues::Queues;
use run_queue::Taken;
use worker_parker::WorkerParker;
use worker_state::Taking;

/// The run queues of a pool, and its workers that wait for a job.
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
    pub(crate) fn push(&self, queue: usize, owner: Owner, entry: Entry<J>) {
        self.queues.push(queue, owner, entry);
        self.idle.notify(queue);
    }

    /// The next job; sleeps until there is one. `None` when `changed` returns true; the thread that makes it true calls
    /// `wake_all` afterwards.
    pub(crate) fn next(
        &self,
        taking: &Taking<'_>,
        parker: &Arc<WorkerParker>,
        changed: &dyn Fn() -> bool,
    ) -> Option<Taken<J>> {
        if let Some(taken) = self.queues.take(taking) {
            return Some(taken);
        }
        let since = taking.now();
        let taken = self.wait(taking, parker, changed);
        let now = taken.as_ref().map_or_else(|| taking.now(), |taken| taken.now);
        taking.worker.add_idle(now.saturating_sub(since));
        taken
    }

    /// Searches or sleeps until there is a job or `changed` returns true.
    fn wait(&self, taking: &Taking<'_>, parker: &Arc<WorkerParker>, changed: &dyn Fn() -> bool) -> Option<Taken<J>> {
        let mut searcher = self.idle.search();
        loop {
            let taken = if searcher { self.spin_and_take(taking) } else { self.queues.take(taking) };
            if taken.is_some() || changed() {
                match (searcher, self.queues.first()) {
                    (true, _) => self.idle.end_search(|| self.queues.first()),
                    // Whoever added the remaining job may have looked while this worker was still the searcher.
                    (false, Some(queue)) if taken.is_some() => self.idle.notify(queue),
                    (false, _) => {}
                }
                return taken;
            }
            taking.worker.count_park();
            searcher = self.idle.sleep(parker, searcher, || self.queues.first().is_some() || changed());
        }
    }

    /// Takes a job if one arrives within a bounded spin.
    fn spin_and_take(&self, taking: &Taking<'_>) -> Option<Taken<J>> {
        for _ in 0..sync::SPINS {
            if self.queues.first().is_some() {
                break;
            }
            sync::hint::spin_loop();
        }
        self.queues.take(taking)
    }

    /// Wakes every sleeping worker, to check what has changed.
    pub(crate) fn wake_all(&self) {
        self.idle.wake_all();
    }

    /// Counters of each queue, and how long all jobs waited.
    pub(crate) fn stats(&self) -> (Vec<QueueStats>, Histogram) {
        let (mut stats, waits) = self.queues.stats();
        stats.iter_mut().zip(self.idle.wakes()).for_each(|(queue, wakes)| queue.wakes = wakes);
        (stats, waits)
    }

    #[cfg(test)]
    pub(crate) fn sleepers(&self) -> usize {
        self.idle.sleepers()
    }
}
