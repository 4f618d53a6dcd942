//! The parts that the caller of a benchmark supplies: the machine, the clock and the display of progress.

use std::path::PathBuf;
use std::time::Duration;

use packline_runtime::Temporaries;

use crate::{Error, Interruption};

/// Everything that a benchmark uses, except the settings.
pub struct Session<'a> {
    pub machine: Machine,
    /// The existing temporary files, which are removed if the process is interrupted.
    pub temporaries: Temporaries,
    pub interruption: Interruption,
    pub progress: &'a mut dyn Progress,
}

/// Facts about the machine, as far as they could be read.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The path of the measured packline program.
    pub program: Option<PathBuf>,
    /// The processors, kernel and memory, on one line for the report.
    pub description: String,
    /// Today, `YYYY-MM-DD`, for the report.
    pub date: String,
    /// The memory limit of this process in bytes, if there is one.
    pub memory_limit: Option<u64>,
    /// Returns the peak resident memory of this process so far, in bytes.
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
    /// Runs `work`. Returns its result and its wall time in seconds.
    pub(crate) fn time<T>(self, work: impl FnOnce() -> T) -> (T, f64) {
        let start = (self.wall)();
        let result = work();
        (result, ((self.wall)() - start).as_secs_f64())
    }
}

/// Shows the progress of a benchmark.
pub trait Progress {
    /// Shows the plan in one line, before anything is measured.
    fn plan(&mut self, summary: &str);
    /// The first of `runs` runs will begin next.
    fn start(&mut self, runs: usize);
    fn begin(&mut self, what: &str);
    /// The output of a run is being checked.
    fn checking(&mut self);
    fn step(&mut self);
    /// Shows a result or a failure, as text of one or more lines, with escaped names.
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
