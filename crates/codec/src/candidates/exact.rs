//! Finds all candidates that count.

use std::ops::Range;

use super::LONGEST;
use super::found::{Candidate, Found, KEPT};
use super::intervals::{DISTINCT, Intervals};
use super::suffixes::Suffixes;
use crate::CodecError;
use crate::bytes::bounded_match_length;

/// Finds the nearest match of each length at a position. Of those with the same binary logarithm of the distance, which encoders store at
/// the same price, only the longest is kept.
pub(crate) struct ExactFinder {
    /// A match at least this long is taken as it is, bytes.
    nice: usize,
    suffixes: Suffixes,
    intervals: Intervals,
}

/// The matches at a position, from the longest on.
struct Tally {
    longest: Candidate,
    /// The others, from the shortest to the longest, from `first` to [`KEPT`].
    shorter: [Candidate; 2 * KEPT],
    first: usize,
    /// Binary logarithm of the last distance.
    log: u32,
}

impl ExactFinder {
    pub(super) fn new(nice: usize) -> ExactFinder {
        ExactFinder { nice: nice.min(LONGEST), suffixes: Suffixes::default(), intervals: Intervals::default() }
    }

    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        Suffixes::memory(size) + Intervals::memory(size)
    }

    /// Starts a block of at most 2^[`LARGEST_LOG`](super::LARGEST_LOG) bytes.
    pub(super) fn begin(&mut self, src: &[u8]) -> Result<(), CodecError> {
        self.suffixes.sort(src)?;
        self.intervals.build(&self.suffixes, src.len());
        Ok(())
    }

    /// Finds the candidates of a part of the block. Parts follow each other from the start of the block.
    #[inline(never)]
    pub(super) fn find(&mut self, src: &[u8], part: Range<usize>, found: &mut Found) {
        found.clear(part.len());
        let mut at = part.start;
        while at < part.end {
            let longest = self.search(src, at, found);
            at += 1;
            if longest < self.nice {
                continue;
            }
            let inside = (at + longest - 1).min(part.end) - at;
            found.add_none(inside);
            for at in at..at + inside {
                self.intervals.visit(at, |_, _| {});
            }
            at += inside;
        }
        found.finish();
    }

    /// Adds the candidates of a position. Returns the length of the longest.
    #[inline(always)]
    fn search(&mut self, src: &[u8], at: usize, found: &mut Found) -> usize {
        let mut tally = Tally::new();
        self.intervals.visit(at, |length, there| tally.weigh(src, at, there, length));
        if let Some(spare) = found.spare() {
            spare[..KEPT].copy_from_slice(&tally.shorter[tally.first..][..KEPT]);
            found.add(tally.longest, KEPT - tally.first);
        }
        tally.longest.length()
    }
}

impl Tally {
    #[inline(always)]
    fn new() -> Tally {
        Tally { longest: Candidate::default(), shorter: Default::default(), first: KEPT, log: u32::MAX }
    }

    /// Keeps a match with `length` bytes at `there`, or more if that is not less than [`DISTINCT`], if its distance is small enough.
    #[inline(always)]
    fn weigh(&mut self, src: &[u8], at: usize, there: usize, length: usize) {
        let distance = at - there;
        // As zstd stores it: the first three values are repeated distances.
        let log = (distance as u32 + 3).ilog2();
        if log >= self.log {
            return;
        }
        self.log = log;
        let more = if length < DISTINCT {
            0
        } else {
            bounded_match_length(src, there + length, at + length, LONGEST - length)
        };
        let candidate = Candidate::new((length + more) as u32, distance);
        if self.longest.length() == 0 {
            self.longest = candidate;
        } else if self.first > 0 {
            self.first -= 1;
            self.shorter[self.first] = candidate;
        }
    }
}
