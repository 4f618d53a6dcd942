//! Decoders accept any bytes: garbage, truncated and damaged data cause an error or other content, never a panic.

use crate::common::{MEMORY, Numbers, compress, content, spec};
use packline_codec::{CodecError, Decoder};
use proptest::prelude::*;

const CODECS: &[&str] = &["none", "gzip", "xz", "lzma", "zstd", "lz4", "lzo", "bzip2", "huff0", "zle"];

fn packed(name: &str, size: usize) -> Vec<u8> {
    compress(&mut *spec(name).encoder(size).unwrap(), &subject(name, size)).unwrap()
}

fn subject(name: &str, size: usize) -> Vec<u8> {
    let mut bytes = content("text", size, 1);
    if name == "zle" {
        bytes.chunks_exact_mut(70).for_each(|part| part[..20].fill(0));
    }
    bytes
}

fn decoder(name: &str, block_size: usize) -> Box<dyn Decoder> {
    spec(name).decoder(block_size, MEMORY).unwrap()
}

#[test]
fn every_truncation_is_an_error() {
    for name in &CODECS[1..] {
        let packed = packed(name, 3000);
        let mut decoder = decoder(name, 8192);
        let mut dst = vec![0; 3000];
        for size in 0..packed.len() {
            let made = decoder.decompress(&packed[..size], &mut dst);
            // These formats have no end mark: a stream that is cut between two sequences or tokens is a shorter block.
            let short = ["lz4", "zle"].contains(name) && made.as_ref().is_ok_and(|made| *made < 3000);
            assert!(made.is_err() || short, "{name}: cut at {size} of {}: {made:?}", packed.len());
        }
        assert_eq!(decoder.decompress(&packed, &mut dst), Ok(3000), "{name}: a decoder recovers from errors");
    }
}

#[test]
fn bytes_after_the_end_are_an_error() {
    for name in ["gzip", "xz", "lzma", "zstd", "lzo", "bzip2"] {
        for tail in [&[0u8][..], &[0; 4], b"garbage"] {
            let mut packed = packed(name, 3000);
            packed.extend_from_slice(tail);
            let made = decoder(name, 8192).decompress(&packed, &mut vec![0; 8192]);
            assert!(matches!(made, Err(CodecError::Malformed { .. })), "{name}: {made:?}");
        }
        let twice = [packed(name, 3000), packed(name, 3000)].concat();
        assert!(decoder(name, 8192).decompress(&twice, &mut vec![0; 8192]).is_err(), "{name}");
    }
}

#[test]
fn formats_with_checks_detect_every_flipped_bit() {
    for name in ["gzip", "xz", "bzip2"] {
        let good = packed(name, 2000);
        let src = content("text", 2000, 1);
        let mut decoder = decoder(name, 8192);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let mut dst = vec![0; 2000];
            // Readers ignore some header bits; the content must then be correct.
            let made = decoder.decompress(&bad, &mut dst);
            assert!(made.is_err() || dst == src, "{name}: bit {bit}");
        }
    }
}

#[test]
fn flipped_bits_never_panic() {
    for name in CODECS {
        let good = if *name == "none" { content("text", 900, 1) } else { packed(name, 6000) };
        let mut decoder = decoder(name, 8192);
        let mut numbers = Numbers::new(5);
        for _ in 0..4000 {
            let mut bad = good.clone();
            for _ in 0..=numbers.below(4) {
                bad[numbers.below(good.len() as u64) as usize] ^= 1 << numbers.below(8);
            }
            let mut dst = vec![0; 8192];
            if let Ok(made) = decoder.decompress(&bad, &mut dst) {
                assert!(made <= 8192, "{name}");
            }
        }
    }
}

#[test]
fn rejects_large_dictionaries() {
    let mut header = packed("lzma", 3000);
    header[1..5].copy_from_slice(&(1u32 << 30).to_le_bytes());
    let made = spec("lzma").decoder(8192, 1 << 20).unwrap().decompress(&header, &mut vec![0; 8192]);
    assert!(matches!(made, Err(CodecError::Memory { limit: 1_048_576, .. })), "{made:?}");

    let packed = compress(&mut *spec("xz").encoder(1 << 20).unwrap(), &content("text", 1 << 20, 1)).unwrap();
    let made = spec("xz").decoder(8192, 200 << 10).unwrap().decompress(&packed, &mut vec![0; 1 << 20]);
    assert!(matches!(made, Err(CodecError::Memory { .. })), "{made:?}");
}

/// go-diskfs and KarpelesLab/squashfs write images with such frames.
#[test]
fn decodes_zstd_frames_with_windows_larger_than_a_block() {
    // A window of 1 MiB, and content of unknown size: one raw last block of 3 bytes.
    let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 80, 0x19, 0, 0, b'a', b'b', b'c'];
    let mut out = vec![0; 131_072];
    assert_eq!(spec("zstd").decoder(131_072, MEMORY).unwrap().decompress(&frame, &mut out), Ok(3));
    assert_eq!(&out[..3], b"abc");
    let made = spec("zstd").check_parameters(131_072, &frame);
    assert_eq!(made, Err(CodecError::Memory { codec: "zstd", needed: 1 << 20, limit: 131_072 }));
    assert_eq!(spec("zstd").check_parameters(1 << 20, &frame), Ok(()));
}

#[test]
fn accepts_parameters_of_its_own_blocks() {
    for text in [
        "xz",
        "xz:dictsize=50%",
        "xz:x86,arm",
        "xz:auto",
        "xz:level=1,ia64",
        "lzma",
        "lzma:level=1",
        "zstd",
        "zstd:level=22",
        "gzip",
        "lz4",
        "lzo",
    ] {
        for size in [100, 5000, 1 << 17] {
            let spec = spec(text);
            let content = content("code", size, 1);
            let Some(packed) = compress(&mut *spec.encoder(1 << 17).unwrap(), &content) else { continue };
            assert_eq!(spec.check_parameters(1 << 17, &packed), Ok(()), "{text}: {size} bytes");
        }
    }
}

/// A call of one address at `place`. The filter of x86 makes all such calls equal.
fn call(place: u32) -> [u8; 5] {
    let [a, b, c, d] = (0x10_0000u32.wrapping_sub(place)).to_le_bytes();
    [0xe8, a, b, c, d]
}

#[test]
fn rejects_blocks_with_other_filters_or_dictionaries() {
    let packed = |text: &str, size: usize| {
        let content = content("code", size, 1);
        compress(&mut *spec(text).encoder(size).unwrap(), &content).unwrap()
    };
    let code: Vec<u8> = (0..1u32 << 20).step_by(5).flat_map(call).take(1 << 17).collect();
    let filtered = compress(&mut *spec("xz:x86").encoder(1 << 17).unwrap(), &code).unwrap();
    let plain = compress(&mut *spec("xz").encoder(1 << 17).unwrap(), &code).unwrap();
    assert!(filtered.len() < plain.len(), "the filter is used");
    assert_eq!(spec("xz:x86").check_parameters(1 << 17, &filtered), Ok(()));
    for other in ["xz", "xz:ia64", "xz:arm,powerpc"] {
        let made = spec(other).check_parameters(1 << 17, &filtered);
        assert!(matches!(made, Err(CodecError::Malformed { .. })), "{other}: {made:?}");
    }
    for codec in ["xz", "lzma", "zstd"] {
        let large = packed(codec, 1 << 18);
        assert_eq!(spec(codec).check_parameters(1 << 18, &large), Ok(()), "{codec}");
        assert!(spec(codec).check_parameters(1 << 16, &large).is_err(), "{codec}");
        for size in 0..large.len().min(100) {
            let _ = spec(codec).check_parameters(1 << 18, &large[..size]);
        }
    }
}

#[test]
fn a_decoder_reports_its_minimum_memory() {
    for name in ["gzip", "xz", "lzma", "zstd", "bzip2"] {
        let Err(error) = spec(name).decoder(4096, 1000) else { panic!("{name} in 1000 bytes") };
        assert!(matches!(error, CodecError::Memory { limit: 1000, .. }), "{name}: {error}");
    }
}

#[test]
fn decoder_reads_our_blocks_within_its_footprint() {
    for text in ["xz", "xz:dictsize=50%", "xz:x86", "lzma", "gzip", "zstd", "zstd:level=22", "bzip2"] {
        let spec = spec(text);
        let packed = compress(&mut *spec.encoder(1 << 17).unwrap(), &content("code", 1 << 17, 1)).unwrap();
        let mut decoder = spec.decoder(1 << 17, spec.footprint(1 << 17).decoder).unwrap();
        assert_eq!(decoder.decompress(&packed, &mut vec![0; 1 << 17]), Ok(1 << 17), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn garbage_never_panics(garbage in proptest::collection::vec(any::<u8>(), 0..300), capacity in 0usize..500) {
        for name in CODECS {
            let mut dst = vec![0; capacity];
            if let Ok(made) = decoder(name, 8192).decompress(&garbage, &mut dst) {
                prop_assert!(made <= capacity);
            }
        }
    }

    #[test]
    fn garbage_after_a_good_start_never_panics(cut in 0usize..1000, tail in proptest::collection::vec(any::<u8>(), 0..100)) {
        for name in &CODECS[1..] {
            let good = packed(name, 2000);
            let mut bad = good[..cut.min(good.len())].to_vec();
            bad.extend_from_slice(&tail);
            let mut dst = vec![0; 4000];
            if let Ok(made) = decoder(name, 8192).decompress(&bad, &mut dst) {
                prop_assert!(made <= 4000);
            }
        }
    }
}
