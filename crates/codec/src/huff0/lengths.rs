//! Lengths of codes: Huffman's, and where those go over the limit, lengths near the best within it (`limited.rs`).

use super::limited;

/// Symbols of an alphabet.
pub(super) const SYMBOLS: usize = 256;

/// Lengths of codes for all symbols, 0 for those that do not occur.
#[derive(Debug, Clone)]
pub(super) struct Lengths {
    /// By symbol, bits.
    pub(super) of: [u8; SYMBOLS],
    /// The greatest.
    pub(super) longest: u32,
    /// The last symbol that occurs.
    pub(super) last: usize,
}

impl Lengths {
    /// Lengths for `counts`, of which at least two are not zero, none over `limit` (11 or 12). Every sum
    /// of counts is less than 2^24.
    pub(super) fn of(counts: &[u32; SYMBOLS], limit: u32) -> Self {
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

    /// Gives the rarest symbols the longest codes: `at[n]` of them have n bits.
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

    /// Bits that all symbols take together.
    pub(super) fn total(&self, counts: &[u32; SYMBOLS]) -> u64 {
        let bits = self.of.iter().zip(counts).map(|(bits, count)| u32::from(*bits) * count);
        u64::from(bits.sum::<u32>())
    }
}

/// A symbol as what it is sorted by: its count, and itself where counts are equal.
fn key(symbol: usize, count: u32) -> u32 {
    count << 8 | symbol as u32
}

fn symbol(key: u32) -> usize {
    (key & 0xff) as usize
}

/// How often a symbol occurs.
pub(super) fn weight(key: u32) -> u32 {
    key >> 8
}

/// Puts the symbols that occur into order, the rarest first, and returns how many there are.
fn sort(counts: &[u32; SYMBOLS], sorted: &mut [u32; SYMBOLS]) -> usize {
    let mut symbols = 0;
    for (symbol, count) in counts.iter().enumerate() {
        sorted[symbols] = key(symbol, *count);
        symbols += usize::from(*count > 0);
    }
    sorted[..symbols].sort_unstable();
    symbols
}

/// Counts into `at` how many symbols have a code of each length in Huffman's tree. 2^17 bytes make none longer than 25.
fn huffman(sorted: &[u32], at: &mut [usize; 64]) {
    let symbols = sorted.len();
    // Leaves, then nodes in the order in which they are made, which is that of their weights: two queues in one array. What
    // is beyond the end of either weighs more than anything.
    let mut leaves = [u32::MAX; SYMBOLS + 2];
    leaves.iter_mut().zip(sorted).for_each(|(leaf, key)| *leaf = weight(*key));
    let mut nodes = [u32::MAX; SYMBOLS + 2];
    let mut parents = [0_u8; SYMBOLS];
    let mut leaf_parents = [0_u8; SYMBOLS + 2];
    let (mut leaf, mut node) = (0, 0);
    for made in 0..symbols - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            let is_leaf = leaves[leaf] <= nodes[node];
            sum += if is_leaf { leaves[leaf] } else { nodes[node] };
            // Written at both places: the one not taken is written again when it is.
            leaf_parents[leaf] = made as u8;
            parents[node] = made as u8;
            leaf += usize::from(is_leaf);
            node += usize::from(!is_leaf);
        }
        nodes[made] = sum;
    }
    let mut depths = [0_u8; SYMBOLS];
    for node in (0..symbols - 2).rev() {
        depths[node] = depths[usize::from(parents[node])] + 1;
    }
    for parent in &leaf_parents[..symbols] {
        at[usize::from(depths[usize::from(*parent)] + 1) & 63] += 1;
    }
}
