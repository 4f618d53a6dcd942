//! zpaq: the bytes that lrzip writes, streams of other programs, and malformed streams.

use std::io::{ErrorKind, Read};

use crate::common::{Numbers, compress, content};
use packline_codec::{CodecError, Encoder, Outcome, ZpaqEncoder, ZpaqReader};
use proptest::prelude::*;
use sha1::{Digest, Sha1};

/// Enough memory in bytes for every model in this file.
const MEMORY: usize = 300 << 20;

fn packed(level: u32, src: &[u8]) -> Option<Vec<u8>> {
    compress(&mut ZpaqEncoder::new(level).unwrap(), src)
}

fn unpacked(src: &[u8], most: usize) -> Result<Vec<u8>, CodecError> {
    unpacked_with(MEMORY, src, most)
}

/// Returns the content of a stream, read with a limit of `memory` bytes for its models. Longer content is cut one byte after `most`.
fn unpacked_with(memory: usize, src: &[u8], most: usize) -> Result<Vec<u8>, CodecError> {
    let mut made = Vec::new();
    let read = ZpaqReader::new(src, memory).take(most as u64 + 1).read_to_end(&mut made);
    read.map(|_| made).map_err(|error| *error.into_inner().unwrap().downcast().unwrap())
}

fn sum(bytes: &[u8]) -> String {
    Sha1::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Extracted from output of `lrzip -z -T` (0.651) with `-L1`, `-L5` and `-L9` for these inputs.
const OF_LRZIP: &[(&str, u32, usize, &str)] = &[
    ("code", 1, 4150, "1348c39467dbfd2d88601b14ea92c60168bc700f"),
    ("code", 2, 3504, "45091353aa22e0c2b5cc7eab3da20444e57607a3"),
    ("code", 3, 3315, "8c482833218c1979c44c52d8d3df5227b5822499"),
    ("mixed", 1, 1873, "d579053688acb01ef1edca321038e5931b3a69ac"),
    ("mixed", 2, 1589, "87d2b5aaf3169e788ce19388dcd7438d47920d5e"),
    ("mixed", 3, 1625, "498c9718562d7f02bc13349238f9849b1a242ff9"),
];

#[test]
fn writes_the_blocks_of_lrzip() {
    for &(kind, level, size, expected) in OF_LRZIP {
        let src = content(kind, 9000, 1);
        let made = packed(level, &src).unwrap();
        assert_eq!((made.len(), sum(&made)), (size, expected.to_owned()), "{kind}, level {level}");
        assert_eq!(unpacked(&made, 9000).unwrap(), src, "{kind}, level {level}");
    }
}

/// All nine components, a post-processing program, two segments and their checksums, written by libzpaq 7.15.
const NINE: &[u8] = include_bytes!("../data/nine.zpaq");

/// A sorted block and a program that restores its order, written by libzpaq 7.15 (method `x0,3ci1`).
const SORTED: &[u8] = include_bytes!("../data/sorted.zpaq");

#[test]
fn reads_streams_of_libzpaq() {
    assert_eq!(sum(&unpacked(NINE, 4096).unwrap()), "727cd5767ab10041d5ee12b355df0f14e62b52c9");
    assert_eq!(unpacked(SORTED, 4096).unwrap(), content("text", 1500, 3));
    let both = [NINE, SORTED].concat();
    assert_eq!(unpacked(&both, 4096).unwrap().len(), 1267 + 1500, "blocks follow each other");
}

#[test]
fn reads_stored_data() {
    let mut stream = b"zPQ\x02\x01\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01name\0\0\0".to_vec();
    stream.extend(b"\0\0\0\x04\0abc\0\0\0\x02de\0\0\0\0\xFE\xFF");
    assert_eq!(unpacked(&stream, 9).unwrap(), b"abcde");
    stream[3] = 1;
    assert!(unpacked(&stream, 9).unwrap_err().to_string().contains("level 1"));
}

#[test]
fn reading_in_parts_gives_the_complete_content() {
    let block = packed(2, &content("mixed", 5000, 2)).unwrap();
    for (stream, size) in [(&block[..], 5000), (NINE, 1267), (SORTED, 1500)] {
        let whole = unpacked(stream, size).unwrap();
        for piece in [1, 7, 1000, 8192] {
            let mut reader = ZpaqReader::new(stream, MEMORY);
            let mut made = Vec::new();
            let mut out = vec![0; piece];
            loop {
                let size = reader.read(&mut out).unwrap();
                made.extend_from_slice(&out[..size]);
                if size == 0 {
                    break;
                }
            }
            assert!(made == whole, "pieces of {piece}");
        }
    }
}

#[test]
fn reports_incompressible_content() {
    for level in 1..=3 {
        assert_eq!(packed(level, &content("random", 3000, 1)), None);
        assert_eq!(packed(level, b""), None);
        assert_eq!(packed(level, &[7; 40]), None, "a block is never that small");
    }
    let src = content("code", 9000, 1);
    let found = ZpaqEncoder::new(1).unwrap().compress(&src, &mut [0; 8999]);
    assert_eq!(found, Err(CodecError::DestinationTooSmall { found: 8999, expected: 9000 }));
}

#[test]
fn encoder_output_does_not_depend_on_earlier_blocks() {
    let mut encoder = ZpaqEncoder::new(1).unwrap();
    let src = content("text", 4000, 1);
    let first = compress(&mut encoder, &src);
    compress(&mut encoder, &content("code", 9000, 1));
    assert_eq!(compress(&mut encoder, &src), first);
}

#[test]
fn rejects_unknown_levels() {
    for level in [0, 4] {
        assert!(matches!(ZpaqEncoder::new(level), Err(CodecError::Value { .. })));
        assert!(matches!(ZpaqEncoder::footprint(level), Err(CodecError::Value { .. })));
    }
}

#[test]
fn rejects_models_over_the_limit_before_allocating() {
    for level in 1..=3 {
        let block = packed(level, &content("text", 3000, 1)).unwrap();
        let needed = ZpaqEncoder::footprint(level).unwrap().decoder;
        assert_eq!(unpacked_with(needed, &block, 4000).unwrap().len(), 3000, "level {level}");
        let short = unpacked_with(needed / 2, &block, 4000);
        assert!(matches!(short, Err(CodecError::Memory { limit, .. }) if limit == needed as u64 / 2), "{short:?}");
    }
    // 16 GiB of MIX, 16 GiB of H, 4 GiB of M.
    for header in [
        &[0, 0, 0, 0, 2, 1, 9, 7, 32, 0, 1, 1, 0, 0, 0][..],
        &[32, 0, 0, 0, 1, 1, 9, 0, 0],
        &[0, 32, 0, 0, 1, 1, 9, 0, 0],
    ] {
        let stream = [b"zPQ\x01\x01", &[header.len() as u8, 0][..], header].concat();
        assert!(matches!(unpacked(&stream, 9), Err(CodecError::Memory { .. })), "{header:?}");
    }
}

#[test]
fn counts_the_memory_of_stored_programs() {
    // Stored data with a program whose M has 4 GiB.
    let mut stream = b"zPQ\x02\x01\x07\x00\x00\x00\x00\x20\x00\x00\x00\x01\0\0\0".to_vec();
    stream.extend(b"\0\0\0\x04\x01\x01\0\x38\0\0\0\0\xFE\xFF");
    assert!(matches!(unpacked(&stream, 9), Err(CodecError::Memory { .. })));
}

#[test]
fn stops_endless_programs() {
    // For each byte: JMP to itself; OUT forever.
    for (program, endless) in [(&[63, 254][..], true), (&[57, 63, 253], false)] {
        let mut stream = b"zPQ\x02\x01\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\0\0\0".to_vec();
        stream.extend([0, 0, 0, program.len() as u8 + 4, 1, program.len() as u8, 0]);
        stream.extend(program);
        stream.extend(b"x\0\0\0\0\xFE\xFF");
        let found = unpacked(&stream, 200_000);
        if endless {
            assert!(found.unwrap_err().to_string().contains("does not end"))
        } else {
            assert_eq!(found.unwrap().len(), 200_001)
        }
    }
}

#[test]
fn stops_endless_programs_of_models() {
    // For each byte: JMP to itself; OUT forever, which produces nothing here.
    for program in [&[63, 254][..], &[57, 63, 253]] {
        let header = [&[0, 0, 0, 0, 1, 1, 9, 0][..], program, &[0]].concat();
        let stream = [b"zPQ\x01\x01", &[header.len() as u8, 0][..], &header, &[1, 0, 0, 0], &[9; 40]].concat();
        let error = unpacked(&stream, 200_000).unwrap_err();
        assert!(error.to_string().contains("does not end"), "{error}");
    }
}

#[test]
fn stops_programs_without_output() {
    let mut stream = b"zPQ\x02\x01\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\0\0\0".to_vec();
    stream.extend(70_004u32.to_be_bytes());
    stream.extend([1, 1, 0, 56]);
    stream.resize(stream.len() + 70_000, 7);
    stream.extend(b"\0\0\0\0\xFE\xFF");
    assert!(unpacked(&stream, 9).unwrap_err().to_string().contains("writes nothing"));
}

#[test]
fn rejects_many_small_blocks_with_large_models() {
    let block = packed(3, &content("text", 400, 1)).unwrap();
    let limit = ZpaqEncoder::footprint(3).unwrap().decoder;
    assert_eq!(unpacked_with(limit, &block.repeat(8), 16_000).unwrap().len(), 3200);
    let error = unpacked_with(limit, &block.repeat(40), 16_001).unwrap_err();
    assert!(error.to_string().contains("many small blocks"), "{error}");
}

#[test]
fn every_truncation_is_an_error() {
    let block = packed(1, &content("text", 600, 1)).unwrap();
    for stream in [&block[..], NINE, SORTED] {
        for size in 0..stream.len() {
            let error = unpacked(&stream[..size], 4096).unwrap_err();
            assert!(error.to_string().contains("too early"), "cut at {size}: {error}");
        }
    }
}

#[test]
fn rejects_garbage_after_the_end() {
    let block = packed(1, &content("text", 600, 1)).unwrap();
    for tail in [&b"\0"[..], b"garbage", b"zPQ\x03\x01"] {
        let stream = [&block, tail].concat();
        assert!(matches!(unpacked(&stream, 4096), Err(CodecError::Malformed { .. })), "{tail:?}");
    }
}

#[test]
fn a_reader_repeats_its_error() {
    let mut block = packed(1, &content("text", 3000, 1)).unwrap();
    block.truncate(500);
    let mut reader = ZpaqReader::new(&block[..], MEMORY);
    let mut made = Vec::new();
    let error = reader.read_to_end(&mut made).unwrap_err();
    assert!(error.to_string().contains("ends too early") && error.kind() == ErrorKind::InvalidData, "{error}");
    assert!(content("text", 3000, 1).starts_with(&made) && made.len() > 500, "what could be decoded was");
    assert!(reader.read(&mut [0]).unwrap_err().to_string().contains("before"));
}

#[test]
fn checksums_are_checked() {
    let at = SORTED.len() - 2;
    let mut bad = SORTED.to_vec();
    bad[at] ^= 1;
    assert!(unpacked(&bad, 4096).unwrap_err().to_string().contains("checksum"));
}

#[test]
fn flipped_bits_never_panic() {
    let block = packed(1, &content("text", 1500, 1)).unwrap();
    let mut numbers = Numbers::new(7);
    let mut different = 0;
    for (stream, times) in [(&block[..], 400), (NINE, 400), (SORTED, 200)] {
        let good = unpacked(stream, 4096).unwrap();
        for _ in 0..times {
            let mut bad = stream.to_vec();
            for _ in 0..=numbers.below(3) {
                bad[numbers.below(stream.len() as u64) as usize] ^= 1 << numbers.below(8);
            }
            different += usize::from(unpacked_with(64 << 20, &bad, 4096).as_ref() != Ok(&good));
        }
    }
    assert!(different > 700, "{different}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn round_trips_any_content(parts in prop::collection::vec((0u8..4, any::<u8>(), 1usize..300), 0..12), level in 1u32..=3) {
        let mut src = Vec::new();
        for (kind, byte, size) in parts {
            match kind {
                0 => src.extend(std::iter::repeat_n(byte, size)),
                1 => src.extend((0..size).map(|at| byte.wrapping_mul(at as u8).rotate_left(3))),
                2 => src.extend(content("text", size, u64::from(byte))),
                _ => src.extend_from_within(..size.min(src.len())),
            }
        }
        let mut dst = vec![0; src.len()];
        match ZpaqEncoder::new(level).unwrap().compress(&src, &mut dst).unwrap() {
            Outcome::Smaller(size) => prop_assert_eq!(unpacked(&dst[..size], src.len()).unwrap(), src),
            Outcome::NotSmaller => prop_assert!(src.len() < 1200),
        }
    }

    #[test]
    fn parses_or_rejects_any_header(bytes in prop::collection::vec(0u8..40, 0..80), kinds in 0u8..6) {
        let header = [&[3, 3, 3, 3, kinds][..], &bytes, &[0, 56, 0]].concat();
        let mut stream = b"zPQ\x02\x01".to_vec();
        stream.extend((header.len() as u16).to_le_bytes());
        stream.extend(&header);
        stream.extend(b"\x01\0\0\0");
        stream.extend(&bytes);
        let _ = unpacked_with(16 << 20, &stream, 500);
    }
}
