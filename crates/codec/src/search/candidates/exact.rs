//! Finds the nearest match of each length.

use std::ops::Range;

use super::intervals::{Intervals, NEVER, ROOT, length, number};
use super::list::{Candidate, CandidateList, KEPT};
use super::{LARGEST_LOG, LONGEST};
use crate::CodecError;
use crate::bytes::{bounded_match_length, four, slot};

/// Every length up to this one is distinguished.
const DISTINCT: usize = 32;
/// The distinguished lengths above [`DISTINCT`].
const LONG: [usize; 10] = [40, 48, 64, 96, 128, 192, 256, 512, 1024, LONGEST];
/// Shortest prefix of an interval in bytes. Only the root has a shorter one.
const SHORTEST: usize = 3;
/// Maximum number of intervals on a path.
const DEPTH: usize = DISTINCT + 1 - SHORTEST + LONG.len();

/// The length of an interval's prefix, by the number of bytes that its suffixes have in common.
pub(super) static LENGTHS: [u16; LONGEST + 1] = lengths();

const fn lengths() -> [u16; LONGEST + 1] {
    let mut lengths = [0; LONGEST + 1];
    let mut common = SHORTEST;
    let mut length = SHORTEST;
    let mut next = 0;
    while common <= LONGEST {
        if common <= DISTINCT {
            length = common;
        } else if common == LONG[next] {
            length = common;
            next += 1;
        }
        lengths[common] = length as u16;
        common += 1;
    }
    lengths
}

/// Number of intervals visited between checks for the end of a path.
const STRIDE: usize = 2;

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
    /// The matches at a position, from the longest to the shortest.
    list: [Candidate; LIST],
}

/// Maximum number of matches at a position, rounded up to a power of two.
const LIST: usize = 64;
const _: () = assert!(DEPTH < LIST);

impl Format {
    /// Longest match in bytes.
    fn longest(self) -> usize {
        match self {
            Format::Zstd => LONGEST,
            Format::Lzma { longest } => longest,
        }
    }

    /// Returns the smallest distance with nearly the same price as `distance`.
    #[inline(always)]
    fn nearest_of_price(self, distance: u32) -> u32 {
        match self {
            // The first three values are repeated distances.
            Format::Zstd => highest_bit(distance + 3) - 3,
            Format::Lzma { .. } => {
                let even = if distance <= NEAR as u32 { 0 } else { (highest_bit(distance - 1) >> 1) - 1 };
                ((distance - 1) & !even) + 1
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
        ExactFinder {
            exact,
            farthest,
            intervals: Intervals::default(),
            two: vec![0; 1 << TWO].into_boxed_slice(),
            list: [Candidate::default(); LIST],
        }
    }

    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        Intervals::memory(size, DEPTH) + (size_of::<u32>() << TWO)
    }

    /// Starts a block of at most 2^[`LARGEST_LOG`](super::LARGEST_LOG) bytes.
    pub(super) fn begin(&mut self, src: &[u8]) -> Result<(), CodecError> {
        self.two.fill(0);
        build(&mut self.intervals, src)
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
                visit(&mut self.intervals, at, |_, _| {});
                self.add_two(format, src, at);
            }
            at += inside;
        }
        found.finish();
    }

    /// Adds the candidates of a position. Returns the length of the longest.
    #[inline(always)]
    fn search(&mut self, format: Format, src: &[u8], at: usize, found: &mut CandidateList) -> usize {
        let two = self.add_two(format, src, at);
        let ExactFinder { farthest, intervals, list, .. } = self;
        let mut count = 0;
        // A match counts if its distance is less than this: nearer than all longer ones by more than a small difference in price.
        let mut bound = (*farthest).min(at) as u32 + 1;
        // Whether a match counts is hard to predict, so that this has no branches.
        let mut add = |length: u32, distance: u32| {
            let counts = distance < bound;
            list[count % LIST] = Candidate::new(length, distance as usize % (1 << LARGEST_LOG));
            count += usize::from(counts);
            bound = if counts { format.nearest_of_price(distance) } else { bound };
        };
        visit(intervals, at, |length, latest| add(length, (at as u32).wrapping_sub(latest)));
        if format != Format::Zstd {
            add(2, two);
        }
        let count = count.min(format.most());
        for candidate in &mut list[..count] {
            let length = candidate.length();
            let there = at - candidate.distance() as usize;
            if length < DISTINCT {
                break;
            }
            let more = bounded_match_length(src, there + length, at + length, format.longest().saturating_sub(length));
            *candidate = Candidate::new((length + more).min(format.longest()) as u32, at - there);
        }
        let longest = if count > 0 { list[0] } else { Candidate::default() };
        if let Some(spare) = found.spare() {
            for index in 0..KEPT {
                spare[index] = list[count.wrapping_sub(index + 1) % LIST];
            }
            if format.most() > KEPT {
                found.add(longest, count.saturating_sub(1));
            } else {
                found.add(Candidate::default(), count);
            }
        }
        longest.length()
    }

    /// Adds a position to the table of two bytes. Returns the distance of the nearest match of two bytes, or [`NEVER`] if there is none near
    /// enough.
    #[inline(always)]
    fn add_two(&mut self, format: Format, src: &[u8], at: usize) -> u32 {
        if format == Format::Zstd || at + 4 > src.len() {
            return NEVER;
        }
        let bytes = four(src, at) as u16;
        let there = std::mem::replace(&mut self.two[slot(u64::from(bytes) << 48, TWO)], at as u32);
        let distance = at as u32 - there;
        let is_match = distance.wrapping_sub(1) < NEAR as u32 && four(src, there as usize) as u16 == bytes;
        if is_match { distance } else { NEVER }
    }
}

/// Builds the index of a block.
#[inline(never)]
fn build(intervals: &mut Intervals, src: &[u8]) -> Result<(), CodecError> {
    intervals.build(src, |common| LENGTHS[common.min(LONGEST)].into())
}

/// Visits a position. Calls `found` with the length and the latest position of each prefix, from the longest to the shortest. The
/// position is [`NEVER`] if there is none, and a few such calls may come last.
#[inline(always)]
fn visit(intervals: &mut Intervals, at: usize, mut found: impl FnMut(u32, u32)) {
    let mut interval = intervals.innermost(at);
    while interval != ROOT {
        // Several at a time: the end of a path is hard to predict. The root is its own parent and has no latest position.
        for _ in 0..STRIDE {
            let number = number(interval);
            let node = &mut intervals.nodes[number];
            let now = if interval == ROOT { NEVER } else { at as u32 };
            let latest = std::mem::replace(&mut node.latest, now);
            found(length(interval), latest);
            interval = node.parent;
        }
    }
}

/// Returns the highest bit of a number that is set. Unlike `ilog2`, it has no branch for 0.
#[inline(always)]
fn highest_bit(number: u32) -> u32 {
    1 << (31 - (number | 1).leading_zeros())
}
