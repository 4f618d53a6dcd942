//! How often each symbol occurs in a part of a chunk.

use std::ops::Range;

use super::codes::{
    LENGTHS, LENGTHS_BITS, LITERALS, LITERALS_BITS, OFFSETS, Repeats, Sequence, length_code, literals_code,
};
use crate::search::log::{BIT, log2};

/// The kinds of symbols, as ranges of all symbols: literals, and the codes of sequences.
pub(super) const BYTES: Range<usize> = 0..256;
pub(super) const LITERAL_COUNTS: Range<usize> = BYTES.end..BYTES.end + LITERALS;
pub(super) const MATCH_LENGTHS: Range<usize> = LITERAL_COUNTS.end..LITERAL_COUNTS.end + LENGTHS;
pub(super) const DISTANCES: Range<usize> = MATCH_LENGTHS.end..MATCH_LENGTHS.end + OFFSETS;
pub(super) const SYMBOLS: usize = DISTANCES.end;

/// Cost of a code table for each symbol that occurs.
const TABLE_ENTRY: u64 = 5 * BIT as u64;
/// Cost of the headers of a block.
const HEADERS: u64 = 14 * 8 * BIT as u64;

#[derive(Clone)]
pub(super) struct Statistics {
    pub(super) size: usize,
    pub(super) counts: [u32; SYMBOLS],
}

impl Statistics {
    pub(super) fn none() -> Statistics {
        Statistics { size: 0, counts: [0; SYMBOLS] }
    }

    /// Statistics of sequences, and of the literals after them up to the end of `src`.
    pub(super) fn new(src: &[u8], sequences: &[Sequence], repeats: &mut Repeats) -> Statistics {
        let mut counted = Statistics { size: src.len(), ..Statistics::none() };
        let mut rest = src;
        for sequence in sequences {
            let (literals, after) = rest.split_at(sequence.literals as usize);
            rest = &after[sequence.length as usize..];
            counted.add_literals(literals);
            if sequence.length > 0 {
                counted.add_codes(sequence, repeats.store(sequence));
            }
        }
        counted.add_literals(rest);
        counted
    }

    fn add_literals(&mut self, literals: &[u8]) {
        for &byte in literals {
            self.counts[usize::from(byte)] += 1;
        }
    }

    fn add_codes(&mut self, sequence: &Sequence, stored: u32) {
        self.counts[LITERAL_COUNTS.start + literals_code(sequence.literals)] += 1;
        self.counts[MATCH_LENGTHS.start + length_code(sequence.length)] += 1;
        self.counts[DISTANCES.start + stored.ilog2() as usize] += 1;
    }

    pub(super) fn add(&mut self, other: &Statistics) {
        self.size += other.size;
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    pub(super) fn total(&self, kind: Range<usize>) -> u32 {
        self.counts[kind].iter().sum()
    }

    /// Returns the cost of coding by these statistics, in [`BIT`]s. The bits that follow codes are not included, because they do not depend
    /// on the statistics.
    pub(super) fn cost(&self) -> u64 {
        let kinds = [BYTES, LITERAL_COUNTS, MATCH_LENGTHS, DISTANCES];
        HEADERS + kinds.into_iter().map(|kind| self.cost_of(kind)).sum::<u64>()
    }

    /// The bits that follow codes, in [`BIT`]s.
    pub(super) fn bits(&self) -> u64 {
        let of = |kind: Range<usize>, bits: &dyn Fn(usize) -> u64| {
            let counts = self.counts[kind].iter().enumerate();
            counts.map(|(index, &count)| u64::from(count) * bits(index)).sum::<u64>()
        };
        let bits = of(LITERAL_COUNTS, &|index| LITERALS_BITS[index].into())
            + of(MATCH_LENGTHS, &|index| LENGTHS_BITS[index].into())
            + of(DISTANCES, &|index| index as u64);
        bits * u64::from(BIT)
    }

    fn cost_of(&self, kind: Range<usize>) -> u64 {
        let total = log2(self.total(kind.clone()));
        let counts = self.counts[kind].iter().filter(|count| **count > 0);
        counts.map(|&count| u64::from(count) * u64::from(total - log2(count)) + TABLE_ENTRY).sum()
    }
}
