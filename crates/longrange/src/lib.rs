//! Finds repeats in windows of up to 64 GiB, in parallel. The result is a function of the bytes, the level and the shortest match wanted;
//! it is the same for any number of workers, in memory and at offsets of a file. [`Settings::memory`] bounds the memory.
//!
//! All phases are jobs on one pool of the engine (`workers.rs`):
//!
//! 1. `sampling/mod.rs` samples each segment of 4 MiB separately. `sampling/gear.rs` rolls a hash over 32 bytes and keeps the positions
//!    where the hash is low. The number of samples of a segment, and of each shard in it, is limited, so that no content costs more than
//!    any other. Runs and periods of up to 64 bytes are found separately (`sampling/runs.rs`) and have no samples.
//! 2. `index/mod.rs`: a sample is a word of fingerprint and position, in one of 256 shards. A shard is sorted, and each sample is then
//!    linked to the last sample before it with the same fingerprint. The links, sorted by position, are the index. No result depends on
//!    the order of arrival, because complete words are sorted. Links reuse the pages (`index/pages.rs`) of samples, so memory holds one copy.
//! 3. `matching/mod.rs` searches each segment separately again. It follows links to a few candidates, the nearest first, and compares bytes
//!    in both directions (`matching/segment_reader.rs` reads other segments in small blocks). A longer match replaces the short ones it covers.
//! 4. `matching/match_merger.rs`, on the caller's thread, joins matches that continue over the end of a segment.
//! 5. If few bytes are uncovered, `second_pass.rs` searches the gaps again in the same phases, with as many samples as in the first pass but
//!    on far fewer bytes. In many versions of one file, the gaps contain all new content, and repeats in short pieces.
//!
//! Samples chosen as minima of their neighbourhood (winnowing) reduced the uncovered bytes by 0.6 % at the same density and made sampling
//! slower, so hashes below a threshold are used.
#![forbid(unsafe_code)]

mod error;
mod find;
mod index;
mod matching;
#[cfg(test)]
mod noise;
mod sampling;
mod second_pass;
mod settings;
mod window;
mod workers;

pub use error::FindError;
pub use find::find;
pub use settings::{LEVELS, Settings, WINDOW_MOST};
pub use window::Window;

/// A repeat: `length` bytes at `at` equal the bytes `distance` before them.
///
/// All fields are in bytes, and `1 <= distance <= at`. If `distance < length`, the repeat overlaps itself, like a run of one byte at distance 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Offset of the repeat in the window.
    pub at: u64,
    pub length: u64,
    /// Distance back to the equal bytes.
    pub distance: u64,
}

impl Match {
    #[must_use]
    pub fn end(&self) -> u64 {
        self.at + self.length
    }
}
