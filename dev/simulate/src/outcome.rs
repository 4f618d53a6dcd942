//! Results of one run.

use crate::cores::Kind;
use crate::locks::LockCounts;
use crate::world::World;

/// Results of one run. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub wall: f64,
    /// Share of the wall time in which the caller worked, 0 to 1.
    pub caller: f64,
    /// Average share of the wall time in which a worker worked, 0 to 1.
    pub workers: f64,
    pub jobs: u64,
    pub locks: LockCounts,
    /// Wake-ups of sleeping workers.
    pub wakes: u64,
    /// Largest number of bytes in flight.
    pub peak_bytes: f64,
    /// Time the caller waited for a result while later ones were ready.
    pub stalled: f64,
}

/// Time the caller waits while results are ready.
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
