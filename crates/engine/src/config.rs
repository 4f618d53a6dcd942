//! What a parallel line is made with.

use crate::CancelToken;

/// How a [`ParallelLine`](crate::ParallelLine) is set up. None of it changes what comes out of the line.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Worker threads, started at once and kept. 0 starts none: jobs wait until the caller needs a result and then run
    /// on its own thread, always in the same order.
    pub workers: usize,
    /// Memory budget in bytes, any value: 0 lets one item through at a time.
    pub budget: usize,
    /// Stops the line when set.
    pub cancel: CancelToken,
}

impl Config {
    /// A line of `workers` threads that keeps about `budget` bytes in flight, with a cancel token of its own.
    #[must_use]
    pub fn new(workers: usize, budget: usize) -> Self {
        Self { workers, budget, cancel: CancelToken::new() }
    }
}
