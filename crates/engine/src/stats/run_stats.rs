//! Counters of several pipelines, collected as each pipeline ends.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Budget, QueueStats, Stats, WorkerStats};

/// Collects the counters of several pipelines. Clones are one sink.
#[derive(Clone, Debug, Default)]
pub struct StatsSink(Arc<Mutex<RunStats>>);

/// Counters of one or several pipelines: the maximum for peaks and queueing times, sums for all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Counters of the pipelines.
    pub pipeline: Stats,
    /// Counters of the run queues, added for queues of the same number.
    pub queues: Vec<QueueStats>,
    /// Counters of the workers, added for workers of the same number.
    pub workers: Vec<WorkerStats>,
    /// The largest memory budget in bytes; 0 if none was limited.
    pub budget: usize,
}

impl StatsSink {
    /// Takes the counters collected since the last call.
    #[must_use]
    pub fn take(&self) -> RunStats {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the memory of a pipeline whose user has a budget of its own. The pipeline's own budget is then unlimited.
    pub fn add_budget(&self, budget: &Budget) {
        let pipeline = Stats { peak_bytes: budget.peak(), ..Stats::default() };
        self.add(&RunStats { pipeline, budget: limit_of(budget), ..RunStats::default() });
    }

    pub(crate) fn add(&self, run: &RunStats) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(run);
    }
}

/// The limit of a budget in bytes; 0 for a budget without a limit.
pub(crate) fn limit_of(budget: &Budget) -> usize {
    match budget.limit() {
        usize::MAX => 0,
        limit => limit,
    }
}

impl RunStats {
    pub fn add(&mut self, other: &RunStats) {
        self.pipeline.add(&other.pipeline);
        self.budget = self.budget.max(other.budget);
        self.queues.resize(self.queues.len().max(other.queues.len()), QueueStats::default());
        self.queues.iter_mut().zip(&other.queues).for_each(|(queue, more)| queue.add(more));
        let known = self.workers.len();
        self.workers.iter_mut().zip(&other.workers).for_each(|(worker, more)| worker.add(more));
        self.workers.extend(other.workers.iter().skip(known));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn counted(jobs: u64, workers: usize) -> RunStats {
        let worker = WorkerStats { queue: 1, jobs, parks: 2, idle_ns: 30 };
        RunStats {
            pipeline: Stats { fed: jobs, longest_wait_ns: jobs, peak_bytes: 7, ..Stats::default() },
            queues: vec![QueueStats { jobs, p999_wait_ns: 5, ..QueueStats::default() }],
            workers: vec![worker; workers],
            budget: 100,
        }
    }

    #[test]
    fn adds_counters_and_keeps_peaks() {
        let sink = StatsSink::default();
        sink.add(&counted(3, 2));
        sink.clone().add(&counted(4, 3));
        sink.add_budget(&Budget::new(90));
        sink.add_budget(&Budget::new(usize::MAX));
        let all = sink.take();
        assert_eq!(
            (all.pipeline.fed, all.pipeline.longest_wait_ns, all.pipeline.peak_bytes, all.budget),
            (7, 4, 7, 100)
        );
        assert_eq!((all.queues.len(), all.queues[0].jobs, all.queues[0].p999_wait_ns), (1, 7, 5));
        let jobs: Vec<u64> = all.workers.iter().map(|worker| worker.jobs).collect();
        assert_eq!((jobs, all.workers[0].queue, all.workers[0].idle_ns), (vec![7, 7, 4], 1, 60));
        assert_eq!(sink.take(), RunStats::default());
    }
}
