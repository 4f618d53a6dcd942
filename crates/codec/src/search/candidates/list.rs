//! The candidates of the positions of a part of a block.

use super::{LARGEST_LOG, LONGEST};

/// Maximum number of candidates that are kept for a position, in addition to the continued one. The longest are kept.
pub(super) const KEPT: usize = 4;
const DISTANCE: u32 = (1 << LARGEST_LOG) - 1;

/// A match in one number: its length in the high bits, its distance in the low bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Candidate(u32);

const _: () = assert!(LONGEST << LARGEST_LOG <= u32::MAX as usize);

/// Candidates by position, counted from the start of the part.
#[derive(Debug, Default)]
pub(crate) struct CandidateList {
    /// The match found at the previous position, continued; or the longest match, if it was found at this position.
    continued: Vec<Candidate>,
    /// Index of each position's first candidate in `list`, and then the end of the last position's.
    starts: Vec<u32>,
    /// Candidates of each position, from the shortest to the longest, and [`SPARE`] more at the end.
    list: Vec<Candidate>,
    /// Positions that have been added.
    positions: usize,
    /// Candidates that have been added.
    count: usize,
}

/// The candidates of a part, by position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matches<'a> {
    continued: &'a [Candidate],
    starts: &'a [u32],
    list: &'a [Candidate],
}

/// Space for the candidates of a position before some are dropped.
pub(super) const SPARE: usize = 32;
pub(super) type Spare = [Candidate; SPARE];

impl Candidate {
    #[inline(always)]
    pub(super) fn new(length: u32, distance: usize) -> Candidate {
        Candidate(length << LARGEST_LOG | distance as u32)
    }

    /// Length in bytes; 0 if there is no match.
    #[inline(always)]
    pub(crate) fn length(self) -> usize {
        (self.0 >> LARGEST_LOG) as usize
    }

    /// Distance back in bytes.
    #[inline(always)]
    pub(crate) fn distance(self) -> u32 {
        self.0 & DISTANCE
    }

    /// The same match one byte later; no match if it is shorter than three bytes.
    #[inline(always)]
    pub(super) fn rest(self) -> Candidate {
        if self.length() > 3 { Candidate(self.0 - (1 << LARGEST_LOG)) } else { Candidate(0) }
    }
}

impl CandidateList {
    /// Memory for parts of `size` bytes.
    pub(crate) fn memory(size: usize) -> usize {
        ((size + 1) * (2 + KEPT) + SPARE) * size_of::<u32>()
    }

    /// Prepares for a part of `size` bytes.
    pub(super) fn clear(&mut self, size: usize) {
        let grow = |list: &mut Vec<Candidate>, size: usize| list.resize(size.max(list.len()), Candidate(0));
        grow(&mut self.continued, size);
        grow(&mut self.list, size * KEPT + SPARE);
        self.starts.resize((size + 1).max(self.starts.len()), 0);
        self.positions = 0;
        self.count = 0;
    }

    /// Returns the space for the candidates of the next position, which are written before [`CandidateList::add`].
    #[inline(always)]
    pub(super) fn spare(&mut self) -> Option<&mut Spare> {
        self.list.get_mut(self.count..).and_then(<[Candidate]>::first_chunk_mut)
    }

    /// Adds a position, which has `count` candidates in [`CandidateList::spare`].
    #[inline(always)]
    pub(super) fn add(&mut self, continued: Candidate, count: usize) {
        self.continued[self.positions] = continued;
        self.starts[self.positions] = self.count as u32;
        self.positions += 1;
        if count > KEPT {
            let end = self.count + count;
            self.list.copy_within(end - KEPT..end, self.count);
        }
        self.count += count.min(KEPT);
    }

    /// Adds `count` positions without candidates.
    pub(super) fn add_none(&mut self, count: usize) {
        let positions = self.positions..self.positions + count;
        self.continued[positions.clone()].fill(Candidate(0));
        self.starts[positions].fill(self.count as u32);
        self.positions += count;
    }

    /// Ends the list after the last position.
    pub(super) fn finish(&mut self) {
        self.starts[self.positions] = self.count as u32;
    }

    /// The candidates found.
    pub(crate) fn matches(&self) -> Matches<'_> {
        Matches { continued: &self.continued, starts: &self.starts, list: &self.list }
    }
}

impl<'a> Matches<'a> {
    /// The match found at the previous position, continued, or the longest match; length 0 if there is none.
    #[inline(always)]
    pub(crate) fn continued(self, index: usize) -> Candidate {
        self.continued[index]
    }

    /// Length of the longest candidate of a position in bytes; 0 if there is none.
    #[inline(always)]
    pub(crate) fn longest(self, index: usize) -> usize {
        let found = self.at(index).last().map_or(0, |found| found.length());
        self.continued(index).length().max(found)
    }

    /// The candidates of a position, from the shortest to the longest.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> &'a [Candidate] {
        match self.starts[index..] {
            [start, end, ..] => &self.list[start as usize..end as usize],
            _ => &[],
        }
    }
}
