//! Repeats over windows as large as memory, found on every core, the same for any number of workers.
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
/// All three in bytes; `1 <= distance <= at`. Where `distance < length` the repeat overlaps itself, as a run of one
/// byte does at distance 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Where the repeat begins, from the beginning of the window.
    pub at: u64,
    /// How many bytes it has.
    pub length: u64,
    /// Distance back to the same bytes.
    pub distance: u64,
}

impl Match {
    /// Where the repeat ends: its first byte's offset and its length together.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.at + self.length
    }
}
