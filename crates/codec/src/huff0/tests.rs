//! Tests of internals: all kernels, codes of 12 bits, lengths compared with optimal ones.

use proptest::prelude::*;

use super::encode::histogram;
use super::encode::lengths::{Lengths, SYMBOLS};
use super::*;

/// Bytes with geometric frequencies: each of the `symbols` is rarer than the previous symbol by `ratio` in 256.
fn skewed(size: usize, symbols: usize, ratio: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ size as u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 40
    };
    let mut byte = || (0..symbols - 1).find(|_| next() & 255 >= ratio).unwrap_or(symbols - 1);
    (0..size).map(|_| (byte() * 255 / symbols.max(2)) as u8).collect()
}

/// Counts that give Huffman's tree its greatest depth.
fn steps(symbols: usize) -> [u32; SYMBOLS] {
    let mut counts = [0; SYMBOLS];
    let mut pair = (1_u32, 1_u32);
    for count in counts.iter_mut().take(symbols) {
        *count = pair.0.min(20_000);
        pair = (pair.1, pair.0.saturating_add(pair.1));
    }
    counts
}

fn of_counts(counts: &[u32; SYMBOLS]) -> Vec<u8> {
    let runs = counts.iter().enumerate().flat_map(|(symbol, count)| vec![symbol as u8; *count as usize]);
    let mut bytes: Vec<u8> = runs.collect();
    let size = bytes.len();
    (0..size).for_each(|at| bytes.swap(at, (at * 7919 + 13) % size));
    bytes
}

fn decoder(kernel: Kernel) -> Huff0Decoder {
    Huff0Decoder { kernel, tables: Box::new(Tables::new()) }
}

/// Checks that all kernels write the same block with codes of up to `limit` bits, and that all kernels read it.
fn check(src: &[u8], limit: u32, streams: Huff0Streams) -> usize {
    let counts = histogram::count(src);
    if counts.iter().any(|count| *count as usize == src.len()) {
        return 1;
    }
    let pack = |kernel| {
        let mut out = vec![0; src.len() + 8];
        let size = block::encode_block(kernel, src, &counts, limit, &mut out, streams);
        size.map(|size| out[..size].to_vec())
    };
    let packed = pack(Kernel::Portable);
    for kernel in Kernel::all() {
        assert!(pack(kernel) == packed, "{kernel:?}");
        let Some(packed) = &packed else { continue };
        let mut back = vec![0; src.len()];
        assert_eq!(decoder(kernel).decompress_block(packed, &mut back, streams), Ok(()), "{kernel:?}");
        assert!(back == src, "{kernel:?}");
    }
    packed.map_or(src.len(), |packed| packed.len())
}

#[test]
fn kernels_agree() {
    for streams in [Huff0Streams::One, Huff0Streams::Four] {
        for (symbols, ratio) in
            [(2, 10), (3, 128), (17, 200), (60, 230), (256, 128), (256, 245), (256, 252), (256, 255)]
        {
            for size in [40, 100, 333, 1000, 4099, 40_000, 131_072] {
                check(&skewed(size, symbols, ratio), 11, streams);
            }
        }
    }
}

#[test]
fn reads_codes_of_every_length() {
    for symbols in 2..=24 {
        let src = of_counts(&steps(symbols));
        for limit in 11..=12 {
            check(&src, limit, Huff0Streams::Four);
            check(&src, limit, Huff0Streams::One);
        }
    }
    // Codes longer than 11 bits help here: the decoder must support them.
    let src = of_counts(&steps(24));
    assert!(check(&src, 12, Huff0Streams::Four) < check(&src, 11, Huff0Streams::Four));
}

#[test]
fn blocks_with_headers_round_trip() {
    for kernel in Kernel::all() {
        for size in [100, 1023, 1024, 5000, 131_072, 131_073, 300_000] {
            let src = skewed(size, 90, 220);
            let mut dst = vec![0; size - 1];
            let packed = Huff0Encoder { kernel }.try_compress(&src, &mut dst).unwrap().expect("it gets smaller");
            let mut back = vec![0; size];
            assert_eq!(decoder(kernel).decompress(&dst[..packed], &mut back), Ok(size));
            assert!(back == src);
        }
    }
}

/// Bits of the best code of up to `limit` bits, by package-merge (Larmore and Hirschberg 1990). The cost is the sum of the 2n - 2 cheapest
/// packages of the uppermost level.
fn best(counts: &[u32; SYMBOLS], limit: u32) -> u64 {
    let mut leaves: Vec<u64> = counts.iter().filter(|count| **count > 0).map(|count| u64::from(*count)).collect();
    leaves.sort_unstable();
    let mut level = leaves.clone();
    for _ in 1..limit {
        let pairs = level.as_chunks::<2>().0.iter().map(|pair| pair[0] + pair[1]);
        level = leaves.iter().copied().chain(pairs).collect();
        level.sort_unstable();
    }
    level[..2 * leaves.len() - 2].iter().sum()
}

/// Checks that the lengths form a tree, and exceed the optimum by at most `part`.
fn check_lengths(counts: &[u32; SYMBOLS], limit: u32, part: u64) {
    let lengths = Lengths::of(counts, limit);
    let used = lengths.of.iter().zip(counts).filter(|(_, count)| **count > 0);
    let sum: u32 = used.map(|(bits, _)| 1 << (limit - u32::from(*bits))).sum();
    assert_eq!(sum, 1 << limit);
    assert!(lengths.longest <= limit);
    let found = lengths.total(counts);
    let best = best(counts, limit);
    assert!(found >= best && found <= best + best / part + 8, "{found} bits, and {best} would do");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lengths_are_close_to_the_best(
        counts in prop::collection::vec(prop_oneof![Just(0_u32), 1_u32..8, 1_u32..500, 1_u32..4000], 2..=256),
        limit in 11_u32..=12,
    ) {
        let mut all = [0; SYMBOLS];
        all[..counts.len()].copy_from_slice(&counts);
        all[0] = all[0].max(1);
        all[1] = all[1].max(1);
        check_lengths(&all, limit, 200);
    }

    #[test]
    fn kernels_agree_on_anything(
        src in prop::collection::vec(any::<u8>(), 30..3000),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u32), 0..3),
        cut in any::<prop::sample::Index>(),
        mask in any::<u8>(),
    ) {
        let src: Vec<u8> = src.iter().map(|byte| byte & mask & byte.rotate_left(3)).collect();
        let counts = histogram::count(&src);
        prop_assume!(counts.iter().filter(|count| **count > 0).count() > 1);
        for streams in [Huff0Streams::One, Huff0Streams::Four] {
            check(&src, 11, streams);
            let mut packed = vec![0; src.len()];
            let Some(size) = block::encode_block(Kernel::Portable, &src, &counts, 11, &mut packed, streams) else { continue };
            packed.truncate(size);
            for (at, bit) in &flips {
                *at.get_mut(&mut packed) ^= 1 << bit;
            }
            packed.truncate(cut.index(2 * size) + 1);
            let read = |kernel| {
                let mut out = vec![0; src.len()];
                decoder(kernel).decompress_block(&packed, &mut out, streams).map(|()| out)
            };
            let first = read(Kernel::Portable);
            for kernel in Kernel::all() {
                prop_assert!(read(kernel) == first);
            }
        }
    }
}

#[test]
fn limits_deep_trees_with_little_loss() {
    for symbols in 2..=SYMBOLS {
        check_lengths(&steps(symbols), 11, 100);
        check_lengths(&steps(symbols), 12, 100);
    }
}

#[test]
fn round_trips_descriptions() {
    for (symbols, ratio) in [(2, 128), (5, 128), (33, 200), (128, 240), (129, 240), (256, 250), (256, 128)] {
        let lengths = Lengths::of(&histogram::count(&skewed(30_000, symbols, ratio)), 11);
        let mut out = [0; weights::MAX_SIZE];
        let size = weights::write(&lengths, &mut out).unwrap();
        let (weights, taken) = weights::read(&out).unwrap();
        assert_eq!((taken, weights.longest), (size, lengths.longest));
        for (weight, bits) in weights.of.iter().zip(lengths.of) {
            assert_eq!(u32::from(*weight), if bits == 0 { 0 } else { lengths.longest + 1 - u32::from(bits) });
        }
    }
}

#[test]
fn counts_blocks_of_every_length() {
    let src = skewed(1000, 256, 250);
    for size in [0, 1, 7, 8, 63, 1000] {
        let naive = |byte: usize| src[..size].iter().filter(|other| usize::from(**other) == byte).count();
        assert!((0..256).all(|byte| histogram::count(&src[..size])[byte] as usize == naive(byte)));
        let small: Vec<u8> = src[..size].iter().map(|byte| byte & 31).collect();
        let naive = |value: usize| small.iter().filter(|other| usize::from(**other) == value).count();
        assert!((0..32).all(|value| usize::from(histogram::count_small(&small)[value]) == naive(value)));
    }
}

/// Uniformly distributed bytes.
fn even(size: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..size).map(|_| next()).collect()
}

#[test]
fn recognises_flat_content_by_samples() {
    for size in [16 << 10, 32 << 10, 100_000, 128 << 10] {
        let flat = even(size);
        assert!(histogram::has_flat_samples(&flat), "{size}");
        assert!(
            block::encode_block(
                Kernel::detect(),
                &flat,
                &histogram::count(&flat),
                11,
                &mut vec![0; size],
                Huff0Streams::Four
            )
            .is_none()
        );
        assert!(histogram::has_flat_counts(&histogram::count(&flat), size));
        // A compressible part at any position, and a few bytes in each sector.
        for at in (0..size - size / 12).step_by(size / 40) {
            let mut src = flat.clone();
            src[at..at + size / 12].fill(0);
            assert!(
                !histogram::has_flat_samples(&src) && !histogram::has_flat_counts(&histogram::count(&src), size),
                "{size} at {at}"
            );
        }
        for width in [48, 200] {
            let mut src = flat.clone();
            src.chunks_mut(512).for_each(|sector| sector.iter_mut().take(width).for_each(|byte| *byte &= 15));
            assert!(
                !histogram::has_flat_samples(&src) && !histogram::has_flat_counts(&histogram::count(&src), size),
                "{size}: {width} in each sector"
            );
        }
    }
}
