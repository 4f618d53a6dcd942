//! Codes of symbols: the best lengths within a limit, and the bits.

use super::statistics::Statistics;
use super::writer::Writer;

/// Longest code of the format, bits.
pub(in crate::gzip) const LONGEST: usize = 15;

/// The code of each symbol.
pub(in crate::gzip) struct Code {
    /// In bits; 0 for a symbol without a code.
    pub(in crate::gzip) lengths: Vec<u8>,
    /// The bits of each code, the first one lowest.
    bits: Vec<u16>,
}

/// The codes of a block.
pub(in crate::gzip) struct Codes {
    pub(in crate::gzip) literals: Code,
    pub(in crate::gzip) distances: Code,
}

/// A symbol that occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Leaf {
    count: u32,
    symbol: usize,
}

impl Code {
    /// The best code with lengths of at most `limit` bits. At least two symbols get a code, because not every decoder accepts fewer.
    pub(super) fn new(counts: &[u32], limit: usize) -> Code {
        Code::of_lengths(lengths(&leaves(counts), counts.len(), limit))
    }

    pub(in crate::gzip) fn of_lengths(lengths: Vec<u8>) -> Code {
        let mut next = [0_u16; LONGEST + 2];
        for length in 1..=LONGEST {
            let codes = lengths.iter().filter(|bits| usize::from(**bits) == length).count();
            next[length + 1] = (next[length] + codes as u16) << 1;
        }
        let mut bits = vec![0; lengths.len()];
        for (code, &length) in bits.iter_mut().zip(&lengths).filter(|(_, length)| **length > 0) {
            let next = &mut next[usize::from(length)];
            *code = next.reverse_bits() >> (16 - length);
            *next += 1;
        }
        Code { lengths, bits }
    }

    /// The bits of a symbol's code, the first one lowest.
    pub(in crate::gzip) fn bits(&self, symbol: usize) -> u16 {
        self.bits[symbol]
    }

    #[inline(always)]
    pub(super) fn put(&self, symbol: usize, out: &mut Writer) -> Option<()> {
        out.put(self.bits[symbol].into(), self.lengths[symbol].into())
    }

    /// Bits of all symbols together.
    pub(super) fn cost(&self, counts: &[u32]) -> u64 {
        self.lengths.iter().zip(counts).map(|(bits, count)| u64::from(*bits) * u64::from(*count)).sum()
    }

    /// Number of lengths up to the last one that is not 0, at least `least`.
    pub(super) fn used(&self, least: usize) -> usize {
        self.lengths.iter().rposition(|bits| *bits > 0).map_or(0, |last| last + 1).max(least)
    }
}

impl Codes {
    pub(super) fn new(statistics: &Statistics) -> Codes {
        let Statistics { literals, distances } = statistics;
        Codes { literals: Code::new(literals, LONGEST), distances: Code::new(distances, LONGEST) }
    }

    pub(in crate::gzip) fn fixed() -> Codes {
        let length = |symbol| match symbol {
            0..144 => 8,
            144..256 => 9,
            256..280 => 7,
            _ => 8,
        };
        Codes { literals: Code::of_lengths((0..288).map(length).collect()), distances: Code::of_lengths(vec![5; 32]) }
    }

    pub(super) fn cost(&self, statistics: &Statistics) -> u64 {
        self.literals.cost(&statistics.literals) + self.distances.cost(&statistics.distances)
    }
}

/// The symbols that occur, the rarest first, and more if they are fewer than two.
fn leaves(counts: &[u32]) -> Vec<Leaf> {
    let all = counts.iter().enumerate().map(|(symbol, &count)| Leaf { count, symbol });
    let mut leaves: Vec<Leaf> = all.clone().filter(|leaf| leaf.count > 0).collect();
    let missing = 2_usize.saturating_sub(leaves.len());
    leaves.extend(all.filter(|leaf| leaf.count == 0).take(missing));
    leaves.sort_unstable();
    leaves
}

/// The best lengths, by package-merge. Each round pairs the items of the list before, and merges the pairs with the leaves. A leaf's code
/// is as long as the number of lists in which the leaf is among the lightest items, as many as the last round needs.
fn lengths(leaves: &[Leaf], symbols: usize, limit: usize) -> Vec<u8> {
    let mut lists: Vec<Vec<bool>> = Vec::with_capacity(limit);
    let mut weights: Vec<u64> = Vec::new();
    for _ in 0..limit {
        let mut merged = Vec::with_capacity(leaves.len() + weights.len() / 2);
        let mut is_pair = Vec::with_capacity(merged.capacity());
        let mut left = leaves.iter().map(|leaf| u64::from(leaf.count)).peekable();
        let mut pairs = weights.chunks_exact(2).map(|pair| pair[0] + pair[1]).peekable();
        while left.peek().is_some() || pairs.peek().is_some() {
            let pair = pairs.next_if(|pair| left.peek().is_none_or(|leaf| pair < leaf));
            is_pair.push(pair.is_some());
            merged.extend(pair.or_else(|| left.next()));
        }
        weights = merged;
        lists.push(is_pair);
    }
    let mut lengths = vec![0; symbols];
    let mut taken = 2 * leaves.len() - 2;
    for list in lists.iter().rev() {
        let pairs = list[..taken].iter().filter(|is_pair| **is_pair).count();
        leaves[..taken - pairs].iter().for_each(|leaf| lengths[leaf.symbol] += 1);
        taken = 2 * pairs;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_the_lengths_of_huffman_and_limits_them() {
        assert_eq!(Code::new(&[1, 0, 1, 2, 4], 15).lengths, [3, 0, 3, 2, 1]);
        assert_eq!(Code::new(&[1, 1, 2, 4, 8, 16], 4).lengths, [4, 4, 4, 4, 2, 1]);
        assert_eq!(Code::new(&[0, 0, 5], 15).lengths, [1, 0, 1]);
        assert_eq!(Code::new(&[0, 0, 0], 15).lengths, [1, 1, 0]);
    }

    proptest! {
        #[test]
        fn codes_are_complete(counts in prop::collection::vec(0u32..100_000, 2..286), limit in 9usize..16) {
            let Code { lengths, .. } = Code::new(&counts, limit);
            prop_assert!(lengths.iter().all(|bits| usize::from(*bits) <= limit));
            let used: u32 = lengths.iter().filter(|bits| **bits > 0).map(|bits| 1 << (limit - usize::from(*bits))).sum();
            prop_assert_eq!(used, 1 << limit);
            prop_assert!(counts.iter().zip(&lengths).all(|(count, bits)| *count == 0 || *bits > 0));
        }
    }
}
