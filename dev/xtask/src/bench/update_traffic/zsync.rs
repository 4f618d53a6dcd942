//! The blocks that zsync fetches: blocks of the new file that occur at no offset of the old file. As in zsync, rsync's rolling checksum finds
//! the blocks and a hash compares them.

use std::collections::{BTreeMap, BTreeSet};

/// zsyncmake's block size in bytes for files of 100 MB or more, and for smaller files.
const BLOCKS: [usize; 2] = [4096, 2048];

pub fn missing(old: &[u8], new: &[u8]) -> u64 {
    missing_of(old, new, BLOCKS[usize::from(new.len() < 100_000_000)])
}

fn missing_of(old: &[u8], new: &[u8], block: usize) -> u64 {
    let found = found(old, &wanted(new, block), block);
    let is_missing = |bytes: &&[u8]| !found.contains(blake3::hash(bytes).as_bytes());
    new.chunks(block).filter(is_missing).map(|bytes| bytes.len() as u64).sum()
}

type Hashes = BTreeSet<[u8; 32]>;

/// The blocks of the new file, by checksum.
struct Wanted {
    by_sum: BTreeMap<u32, Hashes>,
    /// A bit for each value of some bits of a checksum, so that most offsets cost no search.
    filter: Vec<u64>,
}

fn wanted(new: &[u8], block: usize) -> Wanted {
    let mut wanted = Wanted { by_sum: BTreeMap::new(), filter: vec![0; 1 << 20] };
    for bytes in new.chunks_exact(block) {
        let sum = Sum::of(bytes).value();
        wanted.by_sum.entry(sum).or_default().insert(*blake3::hash(bytes).as_bytes());
        let (word, bit) = place(sum);
        wanted.filter[word] |= bit;
    }
    wanted
}

/// Returns the position of a checksum in the filter.
fn place(sum: u32) -> (usize, u64) {
    let mixed = sum.wrapping_mul(0x9e37_79b1) >> 6;
    ((mixed >> 6) as usize, 1 << (mixed & 63))
}

/// Returns the blocks that occur in the old file. After such a block, the search continues at its end.
fn found(old: &[u8], wanted: &Wanted, block: usize) -> Hashes {
    let mut found = Hashes::new();
    let mut at = 0;
    while at + block <= old.len() {
        let mut sum = Sum::of(&old[at..at + block]);
        loop {
            let (word, bit) = place(sum.value());
            if wanted.filter[word] & bit != 0
                && let Some(hashes) = wanted.by_sum.get(&sum.value())
                && let Some(hash) = hashes.get(blake3::hash(&old[at..at + block]).as_bytes())
            {
                found.insert(*hash);
                at += block;
                break;
            }
            if at + block == old.len() {
                return found;
            }
            sum.roll(old[at], old[at + block], block);
            at += 1;
        }
    }
    found
}

/// The sum of all bytes, and the sum of those sums.
struct Sum {
    low: u16,
    high: u16,
}

impl Sum {
    fn of(bytes: &[u8]) -> Sum {
        bytes.iter().fold(Sum { low: 0, high: 0 }, |Sum { low, high }, byte| {
            let low = low.wrapping_add(u16::from(*byte));
            Sum { low, high: high.wrapping_add(low) }
        })
    }

    fn roll(&mut self, out: u8, next: u8, block: usize) {
        self.low = self.low.wrapping_sub(u16::from(out)).wrapping_add(u16::from(next));
        self.high = self.high.wrapping_sub((block as u16).wrapping_mul(u16::from(out))).wrapping_add(self.low);
    }

    fn value(&self) -> u32 {
        u32::from(self.high) << 16 | u32::from(self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_testkit::Random;

    #[test]
    fn blocks_are_found_wherever_they_are() {
        let old = Random::new(1).noise(100_000);
        assert_eq!(missing_of(&old, &old, 2048), 100_000 % 2048);
        let shifted = [b"some bytes", &old[..]].concat();
        assert_eq!(missing_of(&shifted, &old[..98_304], 2048), 0);
        let changed = [&old[..50_000], b"X", &old[50_001..98_304]].concat();
        assert_eq!(missing_of(&old, &changed, 2048), 2048);
        assert_eq!(missing_of(&[], &old, 2048), 100_000);
    }

    #[test]
    fn a_rolled_sum_is_that_of_its_bytes() {
        let bytes = Random::new(2).noise(5000);
        let mut sum = Sum::of(&bytes[..2048]);
        for at in 1..1000 {
            sum.roll(bytes[at - 1], bytes[at + 2047], 2048);
            assert_eq!(sum.value(), Sum::of(&bytes[at..at + 2048]).value());
        }
    }
}
