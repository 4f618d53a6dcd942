//! Frames of our own encoder, decoded by the library.

use proptest::prelude::*;

use super::codes::{LENGTHS_BITS, LITERALS_BITS, length_code, literals_code};
use super::*;
use crate::Decoder;
use crate::search::hard_inputs::{de_bruijn, fibonacci, periodic};
use crate::search::log::{BIT, log2};
use crate::traits::Compressor;
use crate::zstd::ZstdDecoder;

const LEVELS: std::ops::RangeInclusive<i32> = 12..=17;
const DEFAULT: i32 = 15;

fn frame(level: i32, src: &[u8], block_size: usize) -> Vec<u8> {
    let effort = Effort::new(level, block_size.next_power_of_two().ilog2()).unwrap();
    let mut out = vec![0; crate::zstd::bound(src.len())];
    let size = Optimal::new(effort, block_size, false).unwrap().try_compress(src, &mut out).unwrap().unwrap();
    out.truncate(size);
    out
}

/// Compresses at each level and decompresses. Returns the size at the default level.
fn check(src: &[u8]) -> usize {
    let block_size = src.len().next_power_of_two().max(4096);
    let has_own = |level: &i32| Effort::new(*level, block_size.ilog2()).is_some();
    for level in LEVELS.filter(has_own) {
        let frame = frame(level, src, block_size);
        let mut back = vec![0; src.len()];
        assert_eq!(ZstdDecoder::new().unwrap().decompress(&frame, &mut back), Ok(src.len()));
        assert!(back == src, "{} bytes", src.len());
    }
    frame(DEFAULT, src, block_size).len()
}

fn random(size: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    (0..size).map(|_| next()).collect()
}

#[test]
fn round_trips_sizes_at_edges() {
    let text: Vec<u8> = (0..1u32 << 20)
        .map(|index| b"the size of a block "[((index / 7).wrapping_mul(index / 11) % 20) as usize])
        .collect();
    for size in
        (0..50).chain([255, 256, 1023, 1024, 1025, 4095, 4096, 4097, 131_071, 131_072, 131_073, 262_145, 1 << 20])
    {
        check(&text[..size]);
        check(&vec![7; size]);
    }
}

#[test]
fn handles_hard_inputs() {
    for period in [1, 2, 3, 31, 64] {
        let size = check(&periodic(period));
        assert!(size < 100, "{period}: {size}");
    }
    assert!(check(&random(200_000)) < 200_100);
    assert!(check(&fibonacci(131_072)) < 2000);
    check(&de_bruijn());
}

#[test]
fn finds_matches_across_chunks() {
    let piece = random(100_000);
    assert!(check(&[piece.clone(), piece].concat()) < 101_000);
}

#[test]
fn encoder_output_does_not_depend_on_earlier_blocks() {
    let effort = Effort::new(15, 17).unwrap();
    let mut used = Optimal::new(effort, 1 << 17, false).unwrap();
    for src in [random(70_000), fibonacci(131_072), de_bruijn(), vec![0; 3000]] {
        let mut out = vec![0; crate::zstd::bound(src.len())];
        let size = used.try_compress(&src, &mut out).unwrap().unwrap();
        assert!(out[..size] == frame(15, &src, 1 << 17));
    }
}

#[test]
fn returns_none_if_the_frame_does_not_fit() {
    let src = random(5000);
    let effort = Effort::new(15, 13).unwrap();
    assert_eq!(Optimal::new(effort, 8192, false).unwrap().try_compress(&src, &mut vec![0; 4999]).unwrap(), None);
}

/// RFC 8878, tables 16 and 17 of section 3.1.1.3.2.1.1.
#[test]
fn codes_cover_all_lengths() {
    for (bits, least, code_of) in [
        (&LITERALS_BITS[..], 0, literals_code as fn(u32) -> usize),
        (&LENGTHS_BITS[..], 3, length_code as fn(u32) -> usize),
    ] {
        let mut first = least;
        for (code, bits) in bits.iter().enumerate() {
            let last = first + (1u32 << bits) - 1;
            assert_eq!((code_of(first), code_of(last)), (code, code));
            first = last + 1;
        }
        assert_eq!(first, 131_072 + least);
    }
}

#[test]
fn logarithms_are_close() {
    for number in (1..10_000).chain([131_072, 1 << 20, 3_000_000_000]) {
        let exact = f64::from(number).log2() * f64::from(BIT);
        assert!((f64::from(log2(number)) - exact).abs() < 1.5, "{number}");
    }
    assert_eq!((log2(0), log2(1), log2(2), log2(1 << 20)), (0, 0, BIT, 20 * BIT));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn round_trips_blocks(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..30), 1..40), choices in prop::collection::vec(0usize..40, 0..4000)) {
        check(&choices.iter().flat_map(|choice| words[choice % words.len()].clone()).collect::<Vec<_>>());
    }
}
