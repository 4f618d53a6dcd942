//! Repeats over windows as large as memory, found on every core, the same for any number of workers.
#![forbid(unsafe_code)]

mod compare;
mod error;
mod find;
mod gear;
mod index;
mod leftover;
mod matching;
#[cfg(test)]
mod noise;
mod pages;
mod parallel;
mod runs;
mod sampling;
mod settings;
mod sight;
mod sorting;
mod stitch;
mod window;

pub use error::FindError;
pub use find::find;
pub use settings::{LEVELS, Settings, WINDOW_MOST};
pub use window::Window;

/// A repeat: `length` bytes at `at` are those that stand `distance` bytes before, one by one.
///
/// All three in bytes; `1 <= distance <= at`. Where `distance < length` the repeat overlaps itself, as a run of one
/// byte does at distance 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Where the repeat begins, from the beginning of the window.
    pub at: u64,
    /// How many bytes it has.
    pub length: u64,
    /// How far back the same bytes stand.
    pub distance: u64,
}

impl Match {
    /// Where the repeat ends: its first byte's offset and its length together.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.at + self.length
    }
}
