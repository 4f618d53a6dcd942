//! Decoding tables, indexed by the next 11 bits (12 if a code is that long).

use crate::huff0::MAX_BITS;
use crate::huff0::encode::lengths::SYMBOLS;
use crate::huff0::weights::Weights;

/// Index bits, unless a code is longer.
pub(in crate::huff0) const USUAL_LOG: u32 = 11;
/// Maximum number of entries.
pub(in crate::huff0) const ENTRIES: usize = 1 << MAX_BITS;

/// Tables of one code, with 2^`log` entries each. No entry consumes 0 bits.
#[derive(Debug)]
pub(in crate::huff0) struct Tables {
    /// Index bits: 11 or 12.
    pub(in crate::huff0) log: u32,
    /// The next symbol: its bits in the low byte, the symbol above.
    pub(in crate::huff0) single: [u16; ENTRIES],
    /// The next one to three symbols: their bits in the lowest 6 bits, their number in the 2 bits above, then the symbols, a byte each. An
    /// extra entry lets four bytes be read at the second byte of any entry.
    pub(in crate::huff0) multiple: [u32; ENTRIES + 1],
}

impl Tables {
    pub(in crate::huff0) fn new() -> Self {
        Tables { log: USUAL_LOG, single: [0; ENTRIES], multiple: [0; ENTRIES + 1] }
    }

    /// Builds the table of single symbols.
    pub(in crate::huff0) fn set(&mut self, weights: &Weights) {
        self.log = weights.longest.max(USUAL_LOG);
        let order = by_weight(weights);
        let mut symbols = &order[..];
        let mut table = &mut self.single[..1 << self.log];
        for (weight, count) in (1..=weights.longest).zip(&weights.symbols[1..]) {
            let (these, others) = symbols.split_at(usize::from(*count));
            let bits = weights.longest + 1 - weight;
            let run = 1 << (self.log - bits);
            let (filled, rest) = table.split_at_mut(these.len() * run);
            fill(filled, these, run, bits as u16);
            symbols = others;
            table = rest;
        }
    }

    /// Builds the table of up to three symbols from the table of single symbols.
    #[inline(always)]
    pub(in crate::huff0) fn set_multiple(&mut self, weights: &Weights) {
        match self.log {
            USUAL_LOG => self.join::<USUAL_LOG>(weights),
            _ => self.join::<MAX_BITS>(weights),
        }
    }

    #[inline(always)]
    fn join<const LOG: u32>(&mut self, weights: &Weights) {
        let single = &self.single[..1 << LOG];
        let mut next = 0;
        let mut followers = [0; ENTRIES / 2];
        for (weight, count) in (1..=weights.longest).zip(&weights.symbols[1..]).filter(|(_, count)| **count > 0) {
            let bits = weights.longest + 1 - weight;
            let run = 1 << (LOG - bits);
            let end = next + usize::from(*count) * run;
            follow::<LOG>(single, bits, &mut followers[..run]);
            let from = &single[next..end];
            let to = &mut self.multiple[next..end];
            match run {
                1 => put_before::<1>(from, to, &followers[..1]),
                2 => put_before::<2>(from, to, &followers[..2]),
                4 => put_before::<4>(from, to, &followers[..4]),
                _ => put_before::<8>(from, to, &followers[..run]),
            }
            next = end;
        }
    }
}

/// The symbols that may follow a code of `bits` bits. For each value of the remaining index bits: up to two symbols that fit, in the format
/// of `multiple` without the first symbol.
#[inline(always)]
fn follow<const LOG: u32>(single: &[u16], bits: u32, followers: &mut [u32]) {
    let mask = (1 << LOG) - 1;
    let left = LOG - bits;
    for (index, follower) in followers.iter_mut().enumerate() {
        let first = u32::from(single[(index << bits) & mask]);
        let one = first & 0xff;
        let second = u32::from(single[(index << (bits + one)) & mask]);
        let two = one + (second & 0xff);
        let alone = (first & 0xff00) << 8 | 1 << 6 | one;
        let pair = (first & 0xff00) << 8 | (second & 0xff00) << 16 | 2 << 6 | two;
        let fitting = if one <= left { alone } else { 0 };
        *follower = if two <= left { pair } else { fitting };
    }
}

/// Prepends each symbol of a run to its followers, `RUN` entries at a time.
#[inline(always)]
fn put_before<const RUN: usize>(from: &[u16], to: &mut [u32], followers: &[u32]) {
    let from = from.as_chunks::<RUN>().0;
    let to = to.as_chunks_mut::<RUN>().0;
    let followers = followers.as_chunks::<RUN>().0;
    for (from, to) in from.chunks_exact(followers.len()).zip(to.chunks_exact_mut(followers.len())) {
        let own = u32::from(from[0][0]) + (1 << 6);
        for (to, followers) in to.iter_mut().zip(followers) {
            *to = followers.map(|follower| follower + own);
        }
    }
}

/// Symbols in the order of their weights, without those of weight 0.
fn by_weight(weights: &Weights) -> [u8; SYMBOLS] {
    // Symbols of weight 0 are put after all others, which avoids a branch.
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
