//! The one file of the test kit that reads the clock.
#![allow(clippy::disallowed_methods, reason = "measuring is this file's purpose")]

use std::time::{Duration, Instant};

/// Measures wall time from its making.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
