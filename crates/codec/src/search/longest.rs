//! The longest match at each position, or the nearest match of each length, from the sorted suffixes of a block.
//!
//! Suffixes with a common prefix are neighbours in sorted order: an interval. Intervals form a tree. The intervals that contain a suffix
//! are the path from its leaf to the root, each with a shorter prefix. A visit of a position makes the position the latest occurrence of
//! the prefixes on its path. The first interval on the path that has an occurrence in the window is the longest match.
//!
//! A visit for the longest match stops at the first interval that was visited in the same stretch of [`STRETCH`] positions. All intervals from there on to the
//! root were also visited in that stretch. The occurrence that an interval has is therefore not always the latest one, but it is in the same
//! stretch as the latest one. A match is missed only where its distance is less than a stretch below the largest one.

use super::candidates::{Intervals, LARGEST_LOG, NEVER, ROOT, length, number};
use crate::CodecError;

/// Longest prefix of an interval in bytes.
pub(crate) const LONGEST: usize = (1 << (u32::BITS - LARGEST_LOG)) - 1;
/// See [`Prefixes::unit`].
pub(crate) const COARSE: usize = 64;
/// Positions of a stretch, binary logarithm.
const STRETCH: u32 = 9;
/// A match: its length and the earlier position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub(crate) length: usize,
    pub(crate) from: usize,
}

/// The lengths of prefixes that intervals have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prefixes {
    pub(crate) shortest: usize,
    /// At most [`LONGEST`].
    pub(crate) longest: usize,
    /// Lengths of [`COARSE`] and more are multiples of this power of two.
    pub(crate) unit: usize,
}

impl Prefixes {
    /// The longest of at most `common` bytes; 0 if all are longer.
    #[inline(always)]
    fn at_most(self, common: usize) -> u32 {
        let common = common.min(self.longest);
        let common = if common < COARSE { common } else { common & !(self.unit - 1) };
        if common < self.shortest { 0 } else { common as u32 }
    }
}

#[derive(Default)]
pub(crate) struct LongestFinder {
    /// A node's latest position is one in the stretch that visited the interval last, or [`NEVER`].
    intervals: Intervals,
}

impl LongestFinder {
    /// Memory for blocks of up to `size` bytes.
    pub(crate) fn memory(size: usize) -> usize {
        Intervals::memory(size, LONGEST)
    }

    /// Builds the index of a block of at most 2^[`LARGEST_LOG`] bytes. No position of it is visited yet.
    #[inline(never)]
    pub(crate) fn build(&mut self, src: &[u8], prefixes: Prefixes) -> Result<(), CodecError> {
        self.intervals.build(src, |common| prefixes.at_most(common))
    }

    /// Visits a position. Calls `found` with the length and the earlier position of matches, from the longest to the shortest, each the
    /// nearest of its length. Lengths of [`COARSE`] or more may be longer than stated. All visits of a block are of this kind, or none is.
    #[inline(always)]
    pub(crate) fn visit_all(&mut self, at: usize, mut found: impl FnMut(usize, usize)) {
        let mut interval = self.intervals.innermost(at);
        while interval != ROOT {
            let node = &mut self.intervals.nodes[number(interval)];
            let from = std::mem::replace(&mut node.latest, at as u32);
            if from != NEVER {
                found(length(interval) as usize, from as usize);
            }
            interval = node.parent;
        }
    }

    /// Visits a position and returns the longest match at most `farthest` bytes back; one of length 0 if there is none.
    #[inline(always)]
    pub(crate) fn visit(&mut self, at: usize, farthest: usize) -> Earlier {
        let mut found = Earlier::default();
        let mut interval = self.intervals.innermost(at);
        while interval != ROOT {
            let node = &mut self.intervals.nodes[number(interval)];
            let from = node.latest as usize;
            if found.length == 0 && from < at && at - from <= farthest {
                found = Earlier { length: length(interval) as usize, from };
            }
            if from >> STRETCH == at >> STRETCH {
                break;
            }
            node.latest = at as u32;
            interval = node.parent;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The length of the longest match at most `farthest` back.
    fn longest(src: &[u8], at: usize, farthest: usize) -> usize {
        let common = |there: usize| src[there..].iter().zip(&src[at..]).take_while(|(one, other)| one == other).count();
        (at.saturating_sub(farthest)..at).map(common).max().unwrap_or(0).min(LONGEST)
    }

    proptest! {
        #[test]
        fn finds_nearest_match_of_each_length(words in prop::collection::vec(prop::collection::vec(0u8..3, 1..60), 1..6), choices in prop::collection::vec(0usize..6, 0..80), log in 0u32..6) {
            let src: Vec<u8> = choices.iter().flat_map(|choice| words[choice % words.len()].clone()).collect();
            let mut finder = LongestFinder::default();
            finder.build(&src, Prefixes { shortest: 3, longest: 258, unit: 1 << log }).unwrap();
            for at in 0..src.len() {
                let mut found = Vec::new();
                finder.visit_all(at, |length, from| found.push((length, from)));
                prop_assert!(found.is_sorted_by(|one, other| one.0 > other.0 && one.1 <= other.1));
                let least = longest(&src, at, at).min(COARSE - 1);
                prop_assert!(found.first().map_or(0, |first| first.0) >= least || least < 3);
                for (length, from) in found {
                    let is_match = |there: usize| src[there..].starts_with(&src[at..at + length]);
                    prop_assert_eq!((0..at).rev().find(|&there| is_match(there)), Some(from));
                }
            }
        }

        #[test]
        fn finds_longest_match(words in prop::collection::vec(prop::collection::vec(0u8..3, 1..60), 1..6), choices in prop::collection::vec(0usize..6, 0..80), farthest in 520usize..1500) {
            let src: Vec<u8> = choices.iter().flat_map(|choice| words[choice % words.len()].clone()).collect();
            let mut finder = LongestFinder::default();
            finder.build(&src, Prefixes { shortest: 4, longest: LONGEST, unit: 1 }).unwrap();
            for at in 0..src.len() {
                let Earlier { length, from } = finder.visit(at, farthest);
                prop_assert!(length <= longest(&src, at, farthest));
                let least = longest(&src, at, farthest - (1 << STRETCH));
                prop_assert!(length >= least || least < 4, "{} of {} at {}", length, least, at);
                prop_assert!(length == 0 || at - from <= farthest && src[from..][..length] == src[at..][..length]);
            }
        }
    }
}
