//! The price of each symbol, from statistics.

use std::ops::Range;

use super::codes::{LENGTHS, LENGTHS_BITS, LITERALS_BITS, OFFSETS, literals_code};
use super::statistics::{BYTES, DISTANCES, LITERAL_COUNTS, MATCH_LENGTHS, SYMBOLS, Statistics};
use crate::search::log::{BIT, log2};

/// Prices are in 16ths of a bit: log2 counts 256ths.
const UNIT: u32 = BIT / 16;
/// Number of literals up to which the prices differ.
pub(super) const MANY: usize = 128;
/// Number of symbols of the complete chunk that are added to the symbols of a part, in proportion.
const WHOLE: u64 = 64;
/// Counts are multiplied by this factor, so that the share of the complete chunk may be a fraction of a count.
const SCALE: u32 = 16;

/// Prices of the symbols of a part.
pub(super) struct Prices {
    /// Price of each byte as a literal.
    pub(super) literal: [u32; 256],
    /// Price of one more literal after a number of literals, without the literal itself. Wrapping, because it may be negative.
    pub(super) more: [u32; MANY],
    /// Price of a match by the code of its length, with 0 literals before it.
    pub(super) length: [u32; LENGTHS],
    /// Price of a distance by the binary logarithm of the stored value.
    pub(super) distance: [u32; OFFSETS],
}

impl Prices {
    pub(super) fn new() -> Prices {
        Prices { literal: [0; 256], more: [0; MANY], length: [0; LENGTHS], distance: [0; OFFSETS] }
    }

    /// Sets the prices from the statistics of a part of a chunk and of the complete chunk. The latter give a price to symbols that the part
    /// does not have yet.
    pub(super) fn set(&mut self, part: &Statistics, whole: &Statistics) {
        let mut all = [0; SYMBOLS];
        let bits_of = |bits: &'static [u8]| move |index: usize| u32::from(bits[index]);
        set_kind(&mut all, part, whole, &Kind { range: BYTES, floor: 5, most: 11 }, |_| 0);
        set_kind(&mut all, part, whole, &Kind { range: LITERAL_COUNTS, floor: 8, most: 9 }, bits_of(&LITERALS_BITS));
        set_kind(&mut all, part, whole, &Kind { range: MATCH_LENGTHS, floor: 8, most: 9 }, bits_of(&LENGTHS_BITS));
        set_kind(&mut all, part, whole, &Kind { range: DISTANCES, floor: 8, most: 9 }, |index| index as u32);
        let of = |kind: Range<usize>, index: usize| all[kind.start + index];
        self.literal.copy_from_slice(&all[BYTES]);
        self.distance.copy_from_slice(&all[DISTANCES]);
        for literals in 0..MANY as u32 - 1 {
            let [before, after] = [literals, literals + 1].map(|count| of(LITERAL_COUNTS, literals_code(count)));
            self.more[literals as usize] = after.wrapping_sub(before);
        }
        self.more[MANY - 1] = 0;
        let no_literals = of(LITERAL_COUNTS, 0);
        self.length = std::array::from_fn(|code| of(MATCH_LENGTHS, code) + no_literals);
    }

    /// Price of a distance that is not a repeat.
    #[inline(always)]
    pub(super) fn of_distance(&self, distance: u32) -> u32 {
        self.distance[(distance + 3).ilog2() as usize % OFFSETS]
    }
}

/// A kind of symbol: the number added to each count, in 1/[`SCALE`], and the maximum number of bits of a symbol.
struct Kind {
    range: Range<usize>,
    floor: u32,
    most: u32,
}

fn set_kind(all: &mut [u32; SYMBOLS], part: &Statistics, whole: &Statistics, kind: &Kind, bits: impl Fn(usize) -> u32) {
    let total = u64::from(whole.total(kind.range.clone()).max(1));
    let weights = &mut all[kind.range.clone()];
    let counts = part.counts[kind.range.clone()].iter().zip(&whole.counts[kind.range.clone()]);
    for (weight, (&here, &everywhere)) in weights.iter_mut().zip(counts) {
        *weight = here * SCALE + (u64::from(everywhere) * WHOLE * u64::from(SCALE) / total) as u32 + kind.floor;
    }
    let sum = log2(weights.iter().sum());
    for (index, weight) in weights.iter_mut().enumerate() {
        let price = (sum - log2(*weight)).max(5).min(kind.most * BIT) + bits(index) * BIT;
        *weight = (price + UNIT / 2) / UNIT;
    }
}
