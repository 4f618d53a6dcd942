//! What lines counted, gathered as each of them ends.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Budget, QueueStats, Stats, WorkerStats};

/// Gathers what lines count: who runs several, or does not see them, need not ask each. Clones are one tally.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<Counted>>);

/// What lines counted. Of several these are sums, and of peaks and of the times that jobs were queued the highest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Their own counters.
    pub line: Stats,
    /// Their run queues. What several lines have of one number is put together.
    pub queues: Vec<QueueStats>,
    /// Their workers, likewise.
    pub crew: Vec<WorkerStats>,
    /// The largest memory budget, bytes; 0 if none was limited.
    pub budget: usize,
}

impl Tally {
    /// Takes what has been gathered since the last time.
    #[must_use]
    pub fn take(&self) -> Counted {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts the memory of a line that has a budget of its user's instead of its own, which is unlimited.
    pub fn add_budget(&self, budget: &Budget) {
        let line = Stats { peak_bytes: budget.peak(), ..Stats::default() };
        self.add(&Counted { line, budget: limit_of(budget), ..Counted::default() });
    }

    /// Counts a line.
    pub(crate) fn add(&self, line: &Counted) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(line);
    }
}

/// Bytes of a budget; 0 for one without a limit.
pub(crate) fn limit_of(budget: &Budget) -> usize {
    match budget.limit() {
        usize::MAX => 0,
        limit => limit,
    }
}

impl Counted {
    /// Adds what others counted.
    pub fn add(&mut self, other: &Counted) {
        self.line.add(&other.line);
        self.budget = self.budget.max(other.budget);
        self.queues.resize(self.queues.len().max(other.queues.len()), QueueStats::default());
        self.queues.iter_mut().zip(&other.queues).for_each(|(queue, more)| queue.add(more));
        let known = self.crew.len();
        self.crew.iter_mut().zip(&other.crew).for_each(|(worker, more)| worker.add(more));
        self.crew.extend(other.crew.iter().skip(known));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn counted(jobs: u64, workers: usize) -> Counted {
        let worker = WorkerStats { queue: 1, jobs, parks: 2, idle_ns: 30 };
        Counted {
            line: Stats { fed: jobs, longest_wait_ns: jobs, peak_bytes: 7, ..Stats::default() },
            queues: vec![QueueStats { jobs, p999_wait_ns: 5, ..QueueStats::default() }],
            crew: vec![worker; workers],
            budget: 100,
        }
    }

    #[test]
    fn several_lines_are_sums_and_peaks() {
        let tally = Tally::default();
        tally.add(&counted(3, 2));
        tally.clone().add(&counted(4, 3));
        tally.add_budget(&Budget::new(90));
        tally.add_budget(&Budget::unlimited());
        let all = tally.take();
        assert_eq!((all.line.fed, all.line.longest_wait_ns, all.line.peak_bytes, all.budget), (7, 4, 7, 100));
        assert_eq!((all.queues.len(), all.queues[0].jobs, all.queues[0].p999_wait_ns), (1, 7, 5));
        let jobs: Vec<u64> = all.crew.iter().map(|worker| worker.jobs).collect();
        assert_eq!((jobs, all.crew[0].queue, all.crew[0].idle_ns), (vec![7, 7, 4], 1, 60));
        assert_eq!(tally.take(), Counted::default());
    }
}
