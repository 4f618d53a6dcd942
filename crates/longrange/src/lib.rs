//! Finds repeats in windows as large as memory, in parallel, with the same result for any number of workers.
#![forbid(unsafe_code)]

mod compare;
mod error;
mod find;
mod gear;
mod index;
mod match_merger;
mod matching;
#[cfg(test)]
mod noise;
mod pages;
mod runs;
mod sampling;
mod second_pass;
mod segment_reader;
mod settings;
mod sorting;
mod window;
mod workers;

pub use error::FindError;
pub use find::find;
pub use settings::{LEVELS, Settings, WINDOW_MOST};
pub use window::Window;

/// A repeat: `length` bytes at `at` are equal to those `distance` bytes before.
///
/// All three in bytes; `1 <= distance <= at`. Where `distance < length` the repeat overlaps itself, as a run of one byte does at distance 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Offset of the repeat in the window.
    pub at: u64,
    /// Length.
    pub length: u64,
    /// Distance back to the equal bytes.
    pub distance: u64,
}

impl Match {
    /// The end of the repeat: the sum of its offset and its length.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.at + self.length
    }
}
