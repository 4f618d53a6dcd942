//! The one file here that reads the clock and the number of processors.
#![allow(clippy::disallowed_methods, reason = "reading them is this file's purpose")]

use std::sync::OnceLock;
use std::time::Instant;

static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Nanoseconds since the first call; monotonic.
pub fn nanoseconds() -> u64 {
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The number of processors that may be used.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
