//! Finds repeats in windows of up to 64 GiB, in parallel. The result is a function of the bytes, the level and the shortest match wanted;
//! it is the same for any number of workers, in memory and at offsets of a file. [`Settings::memory`] bounds the memory.
//!
//! All phases are jobs on one pool of the engine (`workers.rs`):
//!
//! 1. `sampling.rs`: each segment of 4 MiB by itself. `gear.rs` rolls a hash over 32 bytes and keeps the places where it is low. The number
//!    of samples of a segment, and of a shard in it, is limited, so that no content costs more than any other. Runs and periods
//!    of up to 64 bytes are found separately (`runs.rs`) and have no samples.
//! 2. `index.rs`: a sample is a word of fingerprint and position in one of 256 shards. A shard is sorted; each sample is then linked to the
//!    last one before it with the same fingerprint, and the links, sorted by position, are the index. Nothing depends on the order
//!    of arrival, because whole words are sorted. Links take the pages (`pages.rs`) that samples leave: one copy in memory.
//! 3. `matching.rs`: each segment by itself again. Links are followed to a few candidates, the nearest first, and compared byte by byte
//!    in both directions (`segment_reader.rs` reads in small blocks what is not in memory). A longer match replaces the short ones it covers.
//! 4. `match_merger.rs`, on the caller's thread: matches that continue over the end of a segment are joined.
//! 5. Where little is left over, `second_pass.rs` searches the gaps again by the same phases, with as many samples as in the first pass on
//!    far fewer bytes: in many versions of one file, all new content is there, and repeats in short pieces.
//!
//! Samples chosen as minima of their neighbourhood (winnowing) reduced the rest by 0.6 % at the same density and made sampling
//! slower; hashes below a threshold are used instead.
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
