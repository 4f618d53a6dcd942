//! What a run came to.

use super::cores::Kind;
use super::locks::LockCounts;
use super::world::World;

/// The figures of one run. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// From the first step to the last.
    pub wall: f64,
    /// Share of the wall time in which the caller worked, 0..1.
    pub caller: f64,
    /// The same of the workers, on average.
    pub workers: f64,
    /// Jobs run.
    pub jobs: u64,
    /// The queues' locks.
    pub locks: LockCounts,
    /// Workers woken from sleep.
    pub wakes: u64,
    /// Most bytes between reading and committing.
    pub peak_bytes: f64,
    /// How long the caller waited for one result while others were there.
    pub stalled: f64,
}

/// Time the caller waits although results are there.
#[derive(Debug, Default)]
pub(super) struct Stall {
    since: Option<f64>,
    total: f64,
}

impl Stall {
    pub(super) fn begins(&mut self, now: f64) {
        self.since = self.since.or(Some(now));
    }

    pub(super) fn ends(&mut self, now: f64) {
        self.total += self.since.take().map_or(0.0, |since| now - since);
    }
}

impl World<'_> {
    pub(super) fn outcome(self) -> Outcome {
        let wall = self.now.max(f64::MIN_POSITIVE);
        let working = self.cores.busy(Kind::Hash) + self.cores.busy(Kind::Compress);
        Outcome {
            wall: self.now,
            caller: self.cores.busy(Kind::Caller) / wall,
            workers: working / wall / self.workers.len().max(1) as f64,
            jobs: self.jobs.len() as u64,
            locks: self.lock_counts,
            wakes: self.wakes,
            peak_bytes: self.caller.peak_bytes(),
            stalled: self.stall.total,
        }
    }
}
