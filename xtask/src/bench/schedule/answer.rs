//! What one run took, and what came of it.

use crate::clock;
use packline_testkit::Stopwatch;

/// Seconds of one run, and the sum of all it made.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Seconds on the wall.
    pub wall: f64,
    /// Seconds of processor time of all threads.
    pub processor: f64,
    /// The same for every run of a workload.
    pub answer: blake3::Hash,
}

/// Times what `work` does; the sum is taken afterwards.
pub fn timed<T>(
    work: impl FnOnce() -> Result<T, String>,
    sum: impl FnOnce(T) -> Result<blake3::Hash, String>,
) -> Result<Cost, String> {
    let (watch, before) = (Stopwatch::start(), clock::processor_seconds());
    let made = work()?;
    let (wall, processor) = (watch.elapsed().as_secs_f64(), clock::processor_seconds() - before);
    Ok(Cost { wall, processor, answer: sum(made)? })
}
