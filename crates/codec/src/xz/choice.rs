//! Chooses the contexts of a block from its content.

use crate::bytes::{four, slot};
use crate::search::log::{BIT, log2};
use crate::search::lzma::Contexts;

/// The candidates. The first is the usual one, which is kept unless another is clearly better.
const CONTEXTS: [Contexts; 4] = [
    Contexts::USUAL,
    Contexts { lc: 4, lp: 0, pb: 2 },
    Contexts { lc: 0, lp: 2, pb: 2 },
    Contexts { lc: 2, lp: 2, pb: 2 },
];
/// Hash bits of the table of earlier positions.
const BITS: u32 = 14;
/// Cost of a byte that occurs in a context for the first time, in [`BIT`]s, in addition to the cost by its frequency.
const FIRST: u64 = 5 * BIT as u64;

/// Memory in bytes while contexts are chosen.
pub(super) const MEMORY: usize = (size_of::<u32>() << BITS) + COUNTS * size_of::<[u32; 256]>();
/// Number of literal contexts of all candidates.
const COUNTS: usize = CONTEXTS.len() * 16;

/// Returns the contexts that suit a block, by the cost of its literals. A literal is a byte that did not occur before with the same
/// neighbours.
pub(super) fn contexts(block: &[u8]) -> Contexts {
    let mut latest = vec![0u32; 1 << BITS];
    let mut counts = vec![[0u32; 256]; COUNTS];
    // Number of matches, by whether their distance is a multiple of four.
    let mut matches = [0usize; 2];
    let mut at = 4;
    while at + 4 <= block.len() {
        let key = four(block, at);
        let there = std::mem::replace(&mut latest[slot(u64::from(key), BITS)], at as u32) as usize;
        if there > 0 && four(block, there) == key {
            matches[usize::from((at - there).is_multiple_of(4))] += 1;
            let same = block[at..].iter().zip(&block[there..]).take_while(|(one, other)| one == other);
            at += same.count().min(64);
            continue;
        }
        let byte = usize::from(block[at]);
        let before = block[at - 1];
        for (index, contexts) in CONTEXTS.iter().enumerate() {
            let context = ((at & ((1 << contexts.lp) - 1)) << contexts.lc) + (usize::from(before) >> (8 - contexts.lc));
            counts[index * 16 + context % 16][byte] += 1;
        }
        at += 1;
    }
    let costs = [0, 1, 2, 3].map(|index| counts[index * 16..][..16].iter().map(cost).sum::<u64>());
    let mut best = 0;
    for index in 1..CONTEXTS.len() {
        let cost = costs[index];
        let least = costs[best];
        if cost < if best == 0 { least - least / 200 } else { least } {
            best = index;
        }
    }
    let [other, aligned] = matches;
    let pb = if CONTEXTS[best].lp == 0 && aligned * 2 < other { 0 } else { 2 };
    Contexts { pb, ..CONTEXTS[best] }
}

/// Returns the cost of bytes with these counts, in [`BIT`]s. Whole numbers make the choice the same on all machines.
fn cost(counts: &[u32; 256]) -> u64 {
    let total = log2(counts.iter().sum());
    let used = counts.iter().filter(|count| **count > 0);
    used.map(|&count| u64::from(count) * u64::from(total - log2(count)) + FIRST).sum()
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use super::super::samples::{MACHINES, x86};
    use super::*;
    use crate::{Outcome, Spec};

    #[test]
    fn chooses_contexts_by_content() {
        assert_eq!(contexts(&Random::new(4).prose(100_000)).lp, 0);
        let records: Vec<u8> =
            Random::new(5).noise(20_000).chunks(2).flat_map(|two| [two[0] & 15, two[1] | 64, 200, 3]).collect();
        assert_eq!(contexts(&records).lp, 2);
        for block in [vec![], vec![0; 5], vec![0; 50_000], Random::new(6).noise(50_000)] {
            let Contexts { lc, lp, pb } = contexts(&block);
            assert!(lc + lp <= 4 && pb <= 4);
        }
    }

    #[test]
    fn round_trips_blocks_independent_of_earlier_ones() {
        let mut random = Random::new(7);
        let records = (0..30_000u32).flat_map(|index| (index / 3 * 7).to_le_bytes()).collect();
        let mut blocks = vec![random.prose(70_000), records, vec![0; 9000], random.prose(20)];
        blocks.extend(MACHINES.map(|machine| (machine.code)(60_000)));
        for text in ["xz:auto", "xz:auto,arm64,riscv,level=1", "xz:auto,level=9,dictsize=50%"] {
            let spec = Spec::parse(text).unwrap();
            let mut used = spec.encoder(1 << 17).unwrap();
            for block in blocks.iter().chain(&blocks) {
                let [mut one, mut other, mut back] = [(); 3].map(|()| vec![0; block.len()]);
                let made = used.compress(block, &mut one).unwrap();
                assert_eq!(spec.encoder(1 << 17).unwrap().compress(block, &mut other), Ok(made));
                let Outcome::Smaller(size) = made else { continue };
                assert!(one[..size] == other[..size], "{text}");
                assert_eq!(
                    spec.decoder(1 << 17, 1 << 24).unwrap().decompress(&one[..size], &mut back),
                    Ok(block.len())
                );
                assert!(back == *block);
            }
        }
    }

    #[test]
    fn trying_all_filters_is_at_most_as_large_as_each() {
        let records: Vec<u8> = (0..30_000u32).flat_map(|index| (index / 3 * 7919).to_le_bytes()).collect();
        let mut random = Random::new(8);
        for block in [records, random.prose(100_000), x86(100_000)] {
            let size = |text: &str| {
                let mut out = vec![0; block.len()];
                match Spec::parse(text).unwrap().encoder(1 << 17).unwrap().compress(&block, &mut out).unwrap() {
                    Outcome::Smaller(size) => size,
                    Outcome::NotSmaller => block.len(),
                }
            };
            let most = size("xz:level=max,x86");
            for text in ["xz:level=9,extreme", "xz:level=9,extreme,x86", "xz:auto,level=9,extreme"] {
                assert!(most <= size(text), "{text}");
            }
            assert!(size("lzma:level=max") <= size("lzma:level=9,extreme"));
        }
    }

    #[test]
    fn parameters_are_printed_and_checked() {
        for (typed, printed) in [
            ("xz:auto", "xz:auto"),
            ("xz:x86,auto", "xz:auto"),
            ("xz:arm64,auto,level=9", "xz:level=9,auto,arm64"),
            ("xz:auto,riscv,arm", "xz:auto,riscv"),
        ] {
            let spec = Spec::parse(typed).unwrap();
            assert_eq!(spec.to_string(), printed);
            assert_eq!(Spec::parse(printed), Ok(spec));
        }
        for wrong in ["xz:auto,ia64", "xz:auto,lc=4", "xz:auto,pb=0", "xz:auto=1", "lzma:auto"] {
            assert!(Spec::parse(wrong).is_err(), "{wrong}");
        }
    }
}
