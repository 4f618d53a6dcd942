//! Finds an order in which contents that have much in common are neighbours.
//!
//! A content is known by its sketch: minima of hashes of its substrings ([`sketch`]). Two contents share about as many of their minima as
//! they share substrings (Broder, "On the resemblance and containment of documents", 1997; one permutation: Li, Owen, Zhang, 2012). From
//! each content the order goes on to the one that shares most ([`chain`]), among a bounded number that share anything.

mod chain;
mod sketch;

pub(crate) use chain::{Features, chain};
pub(crate) use sketch::{ContentKind, content_kind, sketch};

/// Most minima of a sketch.
const MINIMA_MOST: usize = 64;
/// Fewest, however many contents there are.
const MINIMA_LEAST: usize = 4;
/// Minima in all, unless that would be fewer than the fewest for each content.
const FEATURES_MOST: usize = 8 << 20;

/// The minima of each sketch for a number of contents, a power of two: what they are depends on nothing else.
pub(crate) fn minima(contents: usize) -> usize {
    let share = FEATURES_MOST / contents.max(1);
    1 << share.clamp(MINIMA_LEAST, MINIMA_MOST).ilog2()
}

/// Memory of the sketches and the chain of so many contents, at most, in bytes.
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
