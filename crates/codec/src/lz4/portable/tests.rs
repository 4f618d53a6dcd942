//! The blocks equal those of the library where it is used, and those on record everywhere.

use packline_testkit::Random;
use proptest::prelude::*;

use super::*;
use crate::lz4;
use crate::lz4::LIBRARY_IS_USED;
use crate::lz4::library::LibraryEncoder;
use crate::search::hard_inputs::{de_bruijn, fibonacci, periodic};

/// All levels that the library encodes elsewhere, and some accelerations.
fn efforts() -> impl Iterator<Item = Lz4Params> {
    let fast = [1, 2, 7, 64, 5000, 65_537].map(|acceleration| Lz4Params { acceleration, ..Lz4Params::default() });
    fast.into_iter().chain((1..=10).map(|level| Lz4Params { hc: true, level, acceleration: 1 }))
}

fn encode(encoder: &mut dyn Compressor, src: &[u8], capacity: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; capacity];
    let size = encoder.try_compress(src, &mut out).unwrap()?;
    out.truncate(size);
    Some(out)
}

/// The size of a destination in which any block fits.
fn largest(src: &[u8]) -> usize {
    src.len() + src.len() / 255 + 16
}

/// Encodes with both, into destinations that are large enough, and smaller ones. Blocks have at least 2 bytes.
fn compare(params: &Lz4Params, src: &[u8]) {
    if !LIBRARY_IS_USED || src.len() < 2 {
        return;
    }
    let mut library = LibraryEncoder::new(params);
    let mut own = encoder(params);
    let mut check = |capacity| {
        let expected = encode(&mut library, src, capacity);
        let found = encode(&mut *own, src, capacity);
        assert!(found == expected, "{params:?}, {} bytes, {capacity} bytes of space", src.len());
        found.map(|block| block.len())
    };
    let size = check(largest(src)).unwrap();
    check(size / 2);
    let near = if src.len() < 4096 { size.saturating_sub(10)..size + 20 } else { size - 1..size + 1 };
    for capacity in near {
        check(capacity);
    }
}

fn compare_all(src: &[u8]) {
    for params in efforts() {
        compare(&params, src);
    }
}

/// A part of an input.
#[derive(Debug, Clone)]
enum Part {
    Noise {
        seed: u64,
        size: usize,
    },
    /// Few kinds of bytes.
    Letters {
        seed: u64,
        kinds: u64,
        size: usize,
    },
    Prose {
        seed: u64,
        size: usize,
    },
    Run {
        byte: u8,
        size: usize,
    },
    /// Bytes from before. The distance is a share of what is there.
    Copy {
        share: u16,
        size: usize,
    },
    /// The same, at a distance of up to 64 KiB and some more.
    Far {
        before: usize,
        size: usize,
    },
}

fn part() -> impl Strategy<Value = Part> {
    let size = prop_oneof![4 => 1usize..40, 3 => 1usize..700, 1 => 1usize..30_000];
    prop_oneof![
        2 => (any::<u64>(), size.clone()).prop_map(|(seed, size)| Part::Noise { seed, size }),
        2 => (any::<u64>(), 1u64..6, size.clone()).prop_map(|(seed, kinds, size)| Part::Letters { seed, kinds, size }),
        2 => (any::<u64>(), size.clone()).prop_map(|(seed, size)| Part::Prose { seed, size }),
        2 => (0u8..3, size.clone()).prop_map(|(byte, size)| Part::Run { byte, size }),
        3 => (any::<u16>(), size.clone()).prop_map(|(share, size)| Part::Copy { share, size }),
        3 => (1usize..66_000, size).prop_map(|(before, size)| Part::Far { before, size }),
    ]
}

fn built(parts: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        match *part {
            Part::Noise { seed, size } => bytes.extend(Random::new(seed).noise(size)),
            Part::Letters { seed, kinds, size } => {
                let mut random = Random::new(seed);
                bytes.extend((0..size).map(|_| random.below(kinds) as u8));
            }
            Part::Prose { seed, size } => bytes.extend(Random::new(seed).prose(size)),
            Part::Run { byte, size } => bytes.resize(bytes.len() + size, byte),
            Part::Copy { share, size } => {
                let from = (u64::from(share) * bytes.len() as u64) >> 16;
                copy(&mut bytes, from as usize, size);
            }
            Part::Far { before, size } => {
                let from = bytes.len().saturating_sub(before);
                copy(&mut bytes, from, size);
            }
        }
    }
    bytes
}

fn copy(bytes: &mut Vec<u8>, from: usize, size: usize) {
    if from < bytes.len() {
        (from..from + size).for_each(|at| bytes.push(bytes[at]));
    }
}

#[test]
fn blocks_of_all_small_sizes_are_equal() {
    let prose = Random::new(1).prose(100);
    for size in 2..100 {
        for src in [&prose[..size], &vec![7; size], &b"abcd".repeat(25)[..size]] {
            compare_all(src);
        }
    }
}

#[test]
fn blocks_are_equal_where_the_kind_of_table_changes() {
    let mut random = Random::new(2);
    for src in [random.prose(65_600), random.noise(65_600), vec![0; 65_600]] {
        for size in [65_536, 65_546, 65_547] {
            compare_all(&src[..size]);
        }
    }
}

#[test]
fn blocks_of_hard_inputs_are_equal() {
    let mut random = Random::new(3);
    let noise = random.noise(70_000);
    let runs = Part::Run { byte: 1, size: 66_000 };
    let inputs = [
        periodic(1),
        periodic(3),
        periodic(64),
        de_bruijn(),
        fibonacci(131_072),
        [&noise[..], &noise[..]].concat(),
        built(&[runs.clone(), Part::Noise { seed: 4, size: 9 }, runs.clone(), Part::Run { byte: 2, size: 300 }, runs]),
        random.prose(300_000),
    ];
    for src in inputs {
        compare_all(&src);
    }
}

#[test]
fn earlier_blocks_change_nothing() {
    let mut random = Random::new(5);
    let inputs = [random.noise(70_000), fibonacci(131_072), random.prose(30_000), de_bruijn(), vec![0; 3000]];
    for params in efforts() {
        let mut used = encoder(&params);
        for src in &inputs {
            let fresh = encode(&mut *encoder(&params), src, largest(src));
            assert!(encode(&mut *used, src, largest(src)) == fresh, "{params:?}");
        }
    }
}

/// The hash of the blocks that x86-64 makes with the library.
#[test]
fn blocks_are_those_of_other_processors() {
    let mut random = Random::new(6);
    let inputs =
        [random.prose(50_000), random.prose(150_000), random.noise(2000), fibonacci(70_000), periodic(1), de_bruijn()];
    let mut hasher = blake3::Hasher::new();
    for params in efforts() {
        for src in &inputs {
            let block = encode(&mut *lz4::encoder(&params), src, largest(src)).unwrap();
            assert!(encode(&mut *encoder(&params), src, largest(src)).as_ref() == Some(&block), "{params:?}");
            hasher.update(&block);
        }
    }
    assert_eq!(&hasher.finalize().to_hex()[..16], "236cede9d5b7ab54");
}

proptest! {
    // Each case encodes more than a hundred times. PROPTEST_CASES scales the number.
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases / 32).max(1)))]

    #[test]
    fn blocks_of_anything_are_equal(parts in prop::collection::vec(part(), 0..40)) {
        compare_all(&built(&parts));
    }
}
