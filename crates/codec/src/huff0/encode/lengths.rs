//! Code lengths: Huffman's lengths, or nearly optimal lengths within the limit if those exceed it (`limited.rs`).

use super::{histogram, limited};

pub(in crate::huff0) const SYMBOLS: usize = 256;

/// Code lengths of all symbols; 0 for symbols that do not occur.
#[derive(Debug, Clone)]
pub(in crate::huff0) struct Lengths {
    /// Length by symbol, bits.
    pub(in crate::huff0) of: [u8; SYMBOLS],
    pub(in crate::huff0) longest: u32,
    /// The last symbol that occurs.
    pub(in crate::huff0) last: usize,
}

impl Lengths {
    /// Lengths for `counts`, at least two of which are not zero. No length exceeds `limit` (11 or 12). Every sum of counts must be less
    /// than 2^24.
    pub(in crate::huff0) fn of(counts: &[u32; SYMBOLS], limit: u32) -> Self {
        let mut sorted = [0; SYMBOLS];
        let symbols = sort(counts, &mut sorted);
        let sorted = &sorted[..symbols];
        let mut at = [0; 64];
        huffman(sorted, &mut at);
        if at[limit as usize + 1..].iter().any(|symbols| *symbols > 0) {
            limited::shorten(sorted, limit, &mut at);
        }
        Lengths::assign(sorted, &at)
    }

    /// Gives the rarest symbols the longest codes. `at[n]` is the number of codes of n bits.
    fn assign(sorted: &[u32], at: &[usize; 64]) -> Self {
        let mut lengths = Lengths { of: [0; SYMBOLS], longest: 0, last: 0 };
        let mut rest = sorted;
        for (bits, symbols) in at.iter().enumerate().rev().filter(|(_, symbols)| **symbols > 0) {
            let (these, more) = rest.split_at(*symbols);
            these.iter().for_each(|key| lengths.of[symbol(*key)] = bits as u8);
            lengths.longest = lengths.longest.max(bits as u32);
            rest = more;
        }
        lengths.last = lengths.of.iter().rposition(|bits| *bits > 0).unwrap_or(0);
        lengths
    }

    /// Bits of all symbols together.
    pub(in crate::huff0) fn total(&self, counts: &[u32; SYMBOLS]) -> u64 {
        let bits = self.of.iter().zip(counts).map(|(bits, count)| u32::from(*bits) * count);
        u64::from(bits.sum::<u32>())
    }
}

/// Sort key of a symbol: its count, then the symbol.
fn key(symbol: usize, count: u32) -> u32 {
    count << 8 | symbol as u32
}

fn symbol(key: u32) -> usize {
    (key & 0xff) as usize
}

/// The count in a sort key.
pub(in crate::huff0) fn weight(key: u32) -> u32 {
    key >> 8
}

/// Bits of a radix digit.
const DIGIT: u32 = 7;

/// Sorts the symbols that occur, the rarest first. Returns their number.
fn sort(counts: &[u32; SYMBOLS], sorted: &mut [u32; SYMBOLS]) -> usize {
    let mut symbols = 0;
    let mut all = 0;
    for (symbol, count) in counts.iter().enumerate() {
        sorted[symbols] = key(symbol, *count);
        symbols += usize::from(*count > 0);
        all |= count;
    }
    // A radix sort that starts with the lowest digit; each pass is stable.
    let mut other = [0; SYMBOLS];
    for low in (8..40 - all.leading_zeros()).step_by(DIGIT as usize) {
        sort_by_digit(low, &sorted[..symbols], &mut other);
        std::mem::swap(sorted, &mut other);
    }
    symbols
}

/// Sorts `keys` by the digit that begins at bit `low`.
fn sort_by_digit(low: u32, keys: &[u32], sorted: &mut [u32; SYMBOLS]) {
    let digit = |key: u32| (key >> low) as usize & ((1 << DIGIT) - 1);
    let mut places = [0_u16; 1 << DIGIT];
    keys.iter().for_each(|key| places[digit(*key)] += 1);
    let mut sum = 0;
    for place in &mut places {
        sum += std::mem::replace(place, sum);
    }
    for key in keys {
        let place = &mut places[digit(*key)];
        sorted[usize::from(*place) & (SYMBOLS - 1)] = *key;
        *place += 1;
    }
}

/// Counts into `at` how many symbols have a code of each length in Huffman's tree. 2^17 bytes give at most 25 bits.
fn huffman(sorted: &[u32], at: &mut [usize; 64]) {
    let symbols = sorted.len();
    // Two queues: leaves, and inner nodes in the order of creation, which is the order of their weights. Both are padded with entries that
    // are heavier than any other.
    let mut leaves = [u32::MAX; SYMBOLS + 2];
    leaves.iter_mut().zip(sorted).for_each(|(leaf, key)| *leaf = weight(*key));
    let mut nodes = [u32::MAX; SYMBOLS + 2];
    let mut parents = [0_u8; SYMBOLS + 2];
    let mut leaf_parents = [0_u8; SYMBOLS + 2];
    let mut leaf = 0;
    let mut node = 0;
    for made in 0..symbols - 1 {
        // Loads both candidates of both queues at once. Waiting for the first before loading the second would take twice as long.
        let [one, two] = [leaves[leaf], leaves[leaf + 1]];
        let [near, far] = [nodes[node], nodes[node + 1]];
        let both = two <= near;
        let neither = far < one;
        let mixed = if neither { near.wrapping_add(far) } else { one.wrapping_add(near) };
        nodes[made] = if both { one.wrapping_add(two) } else { mixed };
        // Writes both places. Entries that are not consumed are overwritten later.
        leaf_parents[leaf..leaf + 2].fill(made as u8);
        parents[node..node + 2].fill(made as u8);
        leaf += 1 + usize::from(both) - usize::from(neither);
        node += 1 + usize::from(neither) - usize::from(both);
    }
    let mut depths = [0_u8; SYMBOLS];
    for node in (0..symbols - 2).rev() {
        depths[node] = depths[usize::from(parents[node])] + 1;
    }
    let mut bits = leaf_parents;
    bits.iter_mut().for_each(|bits| *bits = depths[usize::from(*bits)] + 1);
    at.iter_mut().zip(histogram::count_small(&bits[..symbols])).for_each(|(at, symbols)| *at = usize::from(symbols));
}
