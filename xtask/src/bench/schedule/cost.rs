//! Times of one run, and the hash of its output.

use crate::clock;
use packline_testkit::Stopwatch;

#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Wall time, seconds.
    pub wall: f64,
    /// Processor time of all threads, seconds.
    pub processor: f64,
    /// Hash of the output: equal for all runs of a workload.
    pub hash: blake3::Hash,
}

/// Measures `work`; its output is hashed afterwards.
pub fn timed<T>(
    work: impl FnOnce() -> Result<T, String>,
    hash: impl FnOnce(T) -> Result<blake3::Hash, String>,
) -> Result<Cost, String> {
    let (watch, before) = (Stopwatch::start(), clock::processor_seconds());
    let made = work()?;
    let (wall, processor) = (watch.elapsed().as_secs_f64(), clock::processor_seconds() - before);
    Ok(Cost { wall, processor, hash: hash(made)? })
}
