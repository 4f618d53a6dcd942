//! The one file of the test kit that reads the clock.
#![allow(clippy::disallowed_methods, reason = "measuring is this file's purpose")]

use std::time::{Duration, Instant};

/// Measures wall time.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
