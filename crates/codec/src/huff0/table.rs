//! Tables by which streams are decoded: what the next 11 bits (12, where a code is so long) stand for.

use super::MAX_BITS;
use super::lengths::SYMBOLS;
use super::weights::Weights;

/// Bits that tables are looked up by, unless a code is longer.
pub(super) const USUAL_LOG: u32 = 11;
const ENTRIES: usize = 1 << MAX_BITS;

/// Tables of one code, of 2^`log` entries each. No entry stands for 0 bits.
#[derive(Debug)]
pub(super) struct Tables {
    /// Bits that an entry is found by: 11 or 12.
    pub(super) log: u32,
    /// The next symbol: bits it takes in the low byte, the symbol above.
    pub(super) single: [u16; ENTRIES],
    /// The next one to three symbols: bits they take in the lowest 6 bits, their number in the 2 above, then the symbols from
    /// the first on, a byte each.
    pub(super) multiple: [u32; ENTRIES],
}

impl Tables {
    /// Tables of no code yet.
    pub(super) fn new() -> Self {
        Tables { log: USUAL_LOG, single: [0; ENTRIES], multiple: [0; ENTRIES] }
    }

    /// Makes the table of single symbols.
    pub(super) fn set(&mut self, weights: &Weights) {
        self.log = weights.longest.max(USUAL_LOG);
        let order = by_weight(weights);
        let mut symbols = &order[..];
        let mut table = &mut self.single[..1 << self.log];
        for (weight, count) in (1..).zip(&weights.symbols[1..]) {
            let (these, others) = symbols.split_at(usize::from(*count));
            let bits = weights.longest + 1 - weight;
            let run = 1 << (self.log - bits);
            let (filled, rest) = table.split_at_mut(these.len() * run);
            fill(filled, these, run, bits as u16);
            (symbols, table) = (others, rest);
        }
    }

    /// Makes the table of up to three symbols out of that of single ones.
    pub(super) fn set_multiple(&mut self) {
        match self.log {
            USUAL_LOG => self.join::<USUAL_LOG>(),
            _ => self.join::<MAX_BITS>(),
        }
    }

    fn join<const LOG: u32>(&mut self) {
        let single = &self.single[..1 << LOG];
        let mask = (1 << LOG) - 1;
        // The last entry has the shortest code; where not even that one fits behind the first, there is but one symbol.
        let shortest = u32::from(single[mask]) & 0xff;
        let alone = single.partition_point(|entry| (u32::from(*entry) & 0xff) + shortest > LOG);
        for (multiple, entry) in self.multiple.iter_mut().zip(&single[..alone]) {
            *multiple = u32::from(*entry) + (1 << 6);
        }
        for index in alone..=mask {
            let first = u32::from(single[index]);
            let bits = first & 0xff;
            let second = u32::from(single[(index << bits) & mask]);
            let two = bits + (second & 0xff);
            let third = u32::from(single[(index << two) & mask]);
            let three = two + (third & 0xff);
            let (has_two, has_three) = (u32::from(two <= LOG), u32::from(three <= LOG));
            let taken = if three <= LOG {
                three
            } else if two <= LOG {
                two
            } else {
                bits
            };
            let symbols = first & 0xff00 | (second & 0xff00) << 8 | (third & 0xff00) << 16;
            self.multiple[index] = symbols | (1 + has_two + has_three) << 6 | taken;
        }
    }
}

/// Symbols in the order of their weights, those of weight 0 left out.
fn by_weight(weights: &Weights) -> [u8; SYMBOLS] {
    // Those of weight 0 are put behind all others, so that there is nothing to decide.
    let mut starts = [0_u16; 16];
    let mut sum = 0;
    for (start, symbols) in starts[1..].iter_mut().zip(&weights.symbols[1..]) {
        *start = sum;
        sum += symbols;
    }
    starts[0] = sum;
    let mut order = [0; SYMBOLS];
    for (symbol, weight) in weights.of.iter().enumerate() {
        let start = &mut starts[usize::from(weight & 15)];
        order[usize::from(*start) & 0xff] = symbol as u8;
        *start += 1;
    }
    order
}

fn fill(table: &mut [u16], symbols: &[u8], run: usize, bits: u16) {
    match run {
        1 => fill_runs::<1>(table, symbols, bits),
        2 => fill_runs::<2>(table, symbols, bits),
        4 => fill_runs::<4>(table, symbols, bits),
        8 => fill_runs::<8>(table, symbols, bits),
        16 => fill_runs::<16>(table, symbols, bits),
        _ => {
            for (entries, symbol) in table.chunks_exact_mut(run).zip(symbols) {
                entries.fill(u16::from(*symbol) << 8 | bits);
            }
        }
    }
}

fn fill_runs<const RUN: usize>(table: &mut [u16], symbols: &[u8], bits: u16) {
    for (entries, symbol) in table.as_chunks_mut::<RUN>().0.iter_mut().zip(symbols) {
        *entries = [u16::from(*symbol) << 8 | bits; RUN];
    }
}
