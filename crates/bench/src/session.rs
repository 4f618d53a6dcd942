//! What a benchmark needs from its caller: the machine, the clock, and where progress is shown.

use std::path::PathBuf;
use std::time::Duration;

use packline_runtime::Temporaries;

use crate::{Error, Interruption};

/// Everything outside the settings that a benchmark uses.
pub struct Session<'a> {
    pub machine: Machine,
    /// Temporary files in being; removed if the process is interrupted.
    pub temporaries: Temporaries,
    pub interruption: Interruption,
    pub progress: &'a mut dyn Progress,
}

/// Facts about the machine, as far as they could be read.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Path of the packline program that is measured.
    pub program: Option<PathBuf>,
    /// Processors, kernel and memory in a line, for the report.
    pub description: String,
    /// Today, `YYYY-MM-DD`, for the report.
    pub date: String,
    /// Memory this process may use, bytes, where it is limited.
    pub memory_limit: Option<u64>,
    /// Peak resident memory of this process so far, bytes.
    pub peak_memory: fn() -> Option<u64>,
    pub clock: Clock,
}

impl Machine {
    pub(crate) fn program(&self) -> Result<PathBuf, Error> {
        self.program.clone().ok_or_else(|| Error::failed("cannot find the file of the packline program, to start it"))
    }
}

/// Readings of a clock, each since an arbitrary start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Wall time by a monotonic clock.
    pub wall: fn() -> Duration,
    /// Processor time used by the calling thread.
    pub thread: fn() -> Duration,
}

impl Clock {
    /// Runs `work`; its result and the wall time it took, seconds.
    pub(crate) fn time<T>(self, work: impl FnOnce() -> T) -> (T, f64) {
        let start = (self.wall)();
        let result = work();
        (result, ((self.wall)() - start).as_secs_f64())
    }
}

/// Shows how far a benchmark is.
pub trait Progress {
    /// The plan in a line, before anything is measured.
    fn plan(&mut self, summary: &str);
    /// The first of `runs` runs is about to begin.
    fn start(&mut self, runs: usize);
    fn begin(&mut self, what: &str);
    /// The output of a run is being checked.
    fn checking(&mut self);
    fn step(&mut self);
    /// A result or a failure, as text of one or more lines, with names escaped.
    fn message(&mut self, text: &str);
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests read the clock themselves")]
pub(crate) mod tests {
    use super::*;

    pub(crate) const CLOCK: Clock = Clock { wall: wall_time, thread: wall_time };

    fn wall_time() -> Duration {
        std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap()
    }
}
