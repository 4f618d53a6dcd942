//! Finds an order in which similar contents are neighbours.
//!
//! The sketch of a content consists of minima of hashes of its substrings ([`sketch`]). The share of common minima of two
//! contents approximates the share of common substrings (Broder, "On the resemblance and containment of documents", 1997; one
//! permutation: Li, Owen, Zhang, 2012). The order continues from each content to the content that shares most ([`chain`]), chosen
//! from a bounded number of contents that share any.

mod chain;
mod sketch;

pub(crate) use chain::{Features, chain};
pub(crate) use sketch::{ContentKind, content_kind, sketch};

/// Maximum number of minima of a sketch.
const MINIMA_MOST: usize = 64;
/// Minimum number of minima, for any number of contents.
const MINIMA_LEAST: usize = 4;
/// Total number of minima, unless the minimum for each content is more.
const FEATURES_MOST: usize = 8 << 20;

/// The number of minima of each sketch, a power of two that depends only on the number of contents.
pub(crate) fn minima(contents: usize) -> usize {
    let share = FEATURES_MOST / contents.max(1);
    1 << share.clamp(MINIMA_LEAST, MINIMA_MOST).ilog2()
}

/// Upper bound of the memory of the sketches and the chain of `contents` contents, in bytes.
pub(crate) fn memory(contents: usize) -> u64 {
    contents as u64 * (minima(contents) as u64 * chain::FEATURE_BYTES + chain::CONTENT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_contents_have_smaller_sketches() {
        let found = [0, 1, 30_000, 131_072, 131_073, 1_000_000, 100_000_000].map(minima);
        assert_eq!(found, [64, 64, 64, 64, 32, 8, 4]);
        assert!(memory(1_000_000) < 300 << 20);
    }
}
