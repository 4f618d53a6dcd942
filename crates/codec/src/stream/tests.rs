//! Tests of streams of members; `tests/streams.rs` passes complete files to other programs.

use super::*;

#[test]
fn specs_parse_and_print() {
    for text in ["gzip", "xz", "zstd", "bzip2", "gzip:level=12", "xz:level=0", "zstd:level=19", "bzip2:level=1"] {
        assert_eq!(StreamSpec::parse(text).unwrap().to_string(), text);
    }
    for text in ["", "lz4", "gzip:level=0", "gzip:level=13", "xz:level=10", "zstd:level=-1", "bzip2:level", "xz:x86"] {
        assert!(StreamSpec::parse(text).is_err(), "{text}");
    }
    assert_eq!("gzip:level=6".parse::<StreamSpec>().unwrap().to_string(), "gzip");
    let unknown = StreamSpec::parse("lz4").unwrap_err().to_string();
    assert!(unknown.contains("gzip, xz, zstd, bzip2"), "{unknown}");
}

#[test]
fn output_of_every_level_does_not_depend_on_earlier_blocks() {
    let text: Vec<u8> =
        (0..20_000u32).flat_map(|number| number.wrapping_mul(number).to_string().into_bytes()).collect();
    for format in StreamFormat::ALL {
        for level in format.levels() {
            let spec = StreamSpec { format, level };
            if spec.memory() > 200 << 20 {
                continue;
            }
            let mut encoder = spec.encoder().unwrap();
            let text = &text[..text.len().min(spec.chunk())];
            let first = encoder.encode(text).unwrap();
            encoder.encode(b"something else").unwrap();
            assert_eq!(encoder.encode(text).unwrap(), first, "{spec}");
            assert!(first.bytes.len() < text.len() * 2 / 3, "{spec}");
        }
    }
}

#[test]
fn incompressible_chunks_fit_their_bound() {
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    for format in StreamFormat::ALL {
        let spec = StreamSpec::new(format);
        for length in [0, 1, 1000, spec.chunk().min(1 << 20)] {
            let chunk: Vec<u8> = (0..length).map(|_| noise()).collect();
            let member = spec.encoder().unwrap().encode(&chunk).unwrap();
            assert!(member.bytes.len() <= length + length / 90 + 600, "{spec} {length}: {}", member.bytes.len());
        }
    }
}

#[test]
fn writes_numbers_of_the_xz_format() {
    let spec = StreamSpec::new(StreamFormat::Xz);
    let mut end = spec.end();
    let mut encoder = spec.encoder().unwrap();
    for chunk in [&b"first"[..], b"", b"second"] {
        end.note(&encoder.encode(chunk).unwrap());
    }
    let bytes = end.bytes();
    assert_eq!((bytes[0], bytes[1], bytes.len() % 4), (0, 2, 0));
    assert!(bytes.ends_with(b"\0\x01YZ"));
}
