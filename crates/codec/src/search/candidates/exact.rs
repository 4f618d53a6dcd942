//! Finds the nearest match of each length.

use std::ops::Range;

use super::LONGEST;
use super::intervals::{DISTINCT, Intervals};
use super::list::{Candidate, CandidateList, KEPT};
use crate::CodecError;
use crate::bytes::{bounded_match_length, eight, slot};

/// Hash bits of the table of two bytes.
const TWO: u32 = 12;
/// Matches of two bytes reach at most this far back. Farther ones cost as much as they save.
const NEAR: usize = 1 << 7;

/// The format that the matches are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Matches of at least three bytes, up to [`LONGEST`].
    Zstd,
    /// Matches of at least two bytes, up to `longest`.
    Lzma { longest: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exact {
    pub(crate) format: Format,
    /// A match of at least this length in bytes is used without comparing others.
    pub(crate) nice: usize,
}

/// Finds the nearest match of each length at a position. If several distances have the same price in the format, only the longest match is
/// kept.
pub(crate) struct ExactFinder {
    exact: Exact,
    /// Largest distance in bytes.
    farthest: usize,
    intervals: Intervals,
    /// The latest position of each hash of two bytes.
    two: Box<[u32]>,
}

/// The matches at a position, added from the longest to the shortest.
struct Tally {
    longest: usize,
    /// The matches from `first` on, from the shortest to the longest.
    list: [Candidate; 2 * KEPT + 1],
    first: usize,
    /// Price class of the last distance that was added.
    class: u32,
}

impl Format {
    /// Longest match in bytes.
    fn longest(self) -> usize {
        match self {
            Format::Zstd => LONGEST,
            Format::Lzma { longest } => longest,
        }
    }

    /// Distances of the same class have nearly the same price.
    #[inline(always)]
    fn price_class(self, distance: usize) -> u32 {
        let distance = distance as u32;
        match self {
            // The first three values are repeated distances.
            Format::Zstd => (distance + 3).ilog2(),
            Format::Lzma { .. } if distance <= NEAR as u32 => distance,
            Format::Lzma { .. } => {
                let log = (distance - 1).ilog2();
                NEAR as u32 + 2 * log + ((distance - 1) >> (log - 1) & 1)
            }
        }
    }

    /// Maximum number of matches kept for a position. zstd has one more as the longest ([`CandidateList::add`]).
    const fn most(self) -> usize {
        match self {
            Format::Zstd => KEPT + 1,
            Format::Lzma { .. } => KEPT,
        }
    }
}

impl ExactFinder {
    /// A finder of matches at most `farthest` bytes back.
    pub(super) fn new(exact: Exact, farthest: usize) -> ExactFinder {
        ExactFinder { exact, farthest, intervals: Intervals::default(), two: vec![0; 1 << TWO].into_boxed_slice() }
    }

    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        Intervals::memory(size) + (size_of::<u32>() << TWO)
    }

    /// Starts a block of at most 2^[`LARGEST_LOG`](super::LARGEST_LOG) bytes.
    pub(super) fn begin(&mut self, src: &[u8]) -> Result<(), CodecError> {
        self.two.fill(0);
        self.intervals.build(src)
    }

    /// Finds the candidates of a part of the block. The caller passes parts in order, from the start of the block.
    pub(super) fn find(&mut self, src: &[u8], part: Range<usize>, found: &mut CandidateList) {
        // The loop is compiled for each format.
        match self.exact.format {
            Format::Zstd => self.find_as(Format::Zstd, src, part, found),
            Format::Lzma { longest } => self.find_as(Format::Lzma { longest }, src, part, found),
        }
    }

    #[inline(always)]
    fn find_as(&mut self, format: Format, src: &[u8], part: Range<usize>, found: &mut CandidateList) {
        found.clear(part.len());
        let mut at = part.start;
        while at < part.end {
            let longest = self.search(format, src, at, found);
            at += 1;
            if longest < self.exact.nice {
                continue;
            }
            let inside = (at + longest - 1).min(part.end) - at;
            found.add_none(inside);
            for at in at..at + inside {
                self.intervals.visit(at, |_, _| {});
                self.add_two(format, src, at);
            }
            at += inside;
        }
        found.finish();
    }

    /// Adds the candidates of a position. Returns the length of the longest.
    #[inline(always)]
    fn search(&mut self, format: Format, src: &[u8], at: usize, found: &mut CandidateList) -> usize {
        let most = format.most();
        let mut tally = Tally { longest: 0, list: Default::default(), first: most, class: u32::MAX };
        let farthest = self.farthest;
        self.intervals.visit(at, |length, there| {
            let distance = at - there;
            let class = format.price_class(distance);
            if class < tally.class && distance <= farthest && tally.first > 0 {
                let more =
                    || bounded_match_length(src, there + length, at + length, format.longest().saturating_sub(length));
                let length = if length < DISTINCT { length } else { length + more() };
                tally.add(length.min(format.longest()), distance, class);
            }
        });
        if let Some(distance) = self.add_two(format, src, at)
            && tally.first > 0
            && distance <= farthest
            && format.price_class(distance) < tally.class
        {
            tally.add(2, distance, 0);
        }
        if let Some(spare) = found.spare() {
            spare[..KEPT].copy_from_slice(&tally.list[tally.first..][..KEPT]);
            let longest = if most > KEPT { tally.list[KEPT] } else { Candidate::default() };
            found.add(longest, KEPT.saturating_sub(tally.first));
        }
        tally.longest
    }

    /// Adds a position to the table of two bytes. Returns the distance of the nearest match of two bytes, if it is near enough.
    #[inline(always)]
    fn add_two(&mut self, format: Format, src: &[u8], at: usize) -> Option<usize> {
        if format == Format::Zstd {
            return None;
        }
        let there = std::mem::replace(&mut self.two[slot(eight(src, at) << 48, TWO)], at as u32) as usize;
        let is_near = there < at && at - there <= NEAR;
        (is_near && at + 2 <= src.len() && src[at..at + 2] == src[there..there + 2]).then_some(at - there)
    }
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, length: usize, distance: usize, class: u32) {
        self.class = class;
        self.longest = self.longest.max(length);
        self.first -= 1;
        self.list[self.first] = Candidate::new(length as u32, distance);
    }
}
