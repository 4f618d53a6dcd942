//! Decompressing restores any content; content that does not get smaller is reported.

use crate::common::{KINDS, MEMORY, SPECS, compress, content, spec};
use packline_codec::{CodecError, Outcome, Spec};

/// Returns whether the block got smaller.
fn round_trip(text: &str, spec: &Spec, src: &[u8], block_size: usize) -> bool {
    let mut encoder = spec.encoder(block_size).unwrap();
    let mut decoder = spec.decoder(block_size, MEMORY).unwrap();
    let Some(packed) = compress(&mut *encoder, src) else { return false };
    let mut back = vec![0; src.len()];
    assert_eq!(decoder.decompress(&packed, &mut back).unwrap(), src.len(), "{text}");
    assert!(back == src, "{text}: {} bytes came back changed", src.len());
    // A larger destination gives the same result.
    let mut back = vec![0; src.len() + 100];
    assert_eq!(decoder.decompress(&packed, &mut back).unwrap(), src.len(), "{text}");
    // A smaller destination causes an error, not a shorter block.
    let mut back = vec![0; src.len() - 1];
    assert!(decoder.decompress(&packed, &mut back).is_err(), "{text}: {} bytes in one fewer", src.len());
    true
}

#[test]
fn round_trips_small_blocks_of_all_sizes() {
    for text in SPECS {
        let spec = spec(text);
        for size in (0..=70).chain([255, 256, 257, 511, 512, 1000]) {
            for kind in KINDS {
                round_trip(text, &spec, &content(kind, size, size as u64), 1024);
            }
        }
    }
}

#[test]
fn round_trips_blocks_around_usual_sizes() {
    for text in SPECS {
        let spec = spec(text);
        for size in [4095, 4096, 4097, 8191, 8192, 8193, 16385, 131_071, 131_072] {
            for kind in ["text", "code", "mixed"] {
                let smaller = round_trip(text, &spec, &content(kind, size, 7), 131_072);
                // Only some of the content has runs of zeros.
                let shrinks = *text != "none" && (*text != "zle" || smaller);
                assert_eq!(smaller, shrinks, "{text}: {size} bytes of {kind}");
            }
        }
    }
}

#[test]
fn round_trips_the_largest_blocks() {
    for text in SPECS {
        let size = 1 << 20;
        let smaller = round_trip(text, &spec(text), &content("mixed", size, 3), size);
        assert_eq!(smaller, *text != "none", "{text}");
    }
}

#[test]
fn zeros_shrink_to_almost_nothing() {
    for text in SPECS.iter().filter(|text| **text != "none" && !text.contains("huffman")) {
        let mut encoder = spec(text).encoder(131_072).unwrap();
        let packed = compress(&mut *encoder, &content("zeros", 131_072, 0)).unwrap();
        assert!(packed.len() < 1000, "{text}: {}", packed.len());
    }
}

#[test]
fn random_blocks_do_not_get_smaller() {
    for text in SPECS {
        let mut encoder = spec(text).encoder(131_072).unwrap();
        for size in [0, 1, 2, 3, 100, 4096, 8192, 131_072] {
            let src = content("random", size, 1);
            let mut dst = vec![0; size];
            assert_eq!(encoder.compress(&src, &mut dst).unwrap(), Outcome::NotSmaller, "{text}: {size} bytes");
        }
    }
}

#[test]
fn round_trips_metadata_blocks() {
    for text in SPECS {
        let spec = spec(text);
        let mut encoder = spec.metadata_encoder().unwrap();
        let mut decoder = spec.decoder(4096, MEMORY).unwrap();
        let src = content("text", 8192, 5);
        let Some(packed) = compress(&mut *encoder, &src) else { continue };
        let mut back = vec![0; 8192];
        assert_eq!(decoder.decompress(&packed, &mut back).unwrap(), 8192, "{text}");
        assert!(back == src, "{text}");
    }
}

#[test]
fn keeps_a_branch_filter_only_where_it_helps() {
    let code = content("code", 65_536, 2);
    let plain = compress(&mut *spec("xz").encoder(65_536).unwrap(), &code).unwrap();
    let both = compress(&mut *spec("xz:x86,sparc").encoder(65_536).unwrap(), &code).unwrap();
    assert!(both.len() < plain.len(), "{} is not below {}", both.len(), plain.len());
    let text = content("text", 65_536, 2);
    let plain = compress(&mut *spec("xz").encoder(65_536).unwrap(), &text).unwrap();
    let both = compress(&mut *spec("xz:x86,sparc").encoder(65_536).unwrap(), &text).unwrap();
    assert_eq!(both, plain);
    for filter in ["powerpc", "ia64", "arm", "armthumb", "sparc", "arm64", "riscv"] {
        assert!(round_trip(filter, &spec(&format!("xz:{filter}")), &code, 65_536));
    }
}

#[test]
fn several_strategies_are_at_most_as_large_as_each() {
    for kind in ["text", "code", "periodic", "mixed"] {
        let src = content(kind, 20_000, 4);
        let size =
            |text: &str| compress(&mut *spec(text).encoder(20_000).unwrap(), &src).map_or(usize::MAX, |p| p.len());
        let all = size("gzip:engine=zlib,default,filtered,huffman,rle,fixed");
        let each = ["default", "filtered", "huffman", "rle", "fixed"];
        let least = each.iter().map(|name| size(&format!("gzip:engine=zlib,{name}"))).min().unwrap();
        assert_eq!(all, least, "{kind}");
    }
}

#[test]
fn enforces_size_limits() {
    for text in SPECS {
        let mut encoder = spec(text).encoder(100).unwrap();
        let too_large = encoder.compress(&[0; 101], &mut [0; 101]);
        assert_eq!(too_large, Err(CodecError::BlockTooLarge { found: 101, limit: 100 }), "{text}");
        let too_small = encoder.compress(&[0; 100], &mut [0; 99]);
        assert_eq!(too_small, Err(CodecError::DestinationTooSmall { found: 99, expected: 100 }), "{text}");
    }
}

#[test]
fn writes_the_formats_of_containers() {
    let src = content("text", 131_072, 9);
    let packed = |text: &str| compress(&mut *spec(text).encoder(131_072).unwrap(), &src).unwrap();
    assert_eq!(packed("gzip")[0], 0x78); // RFC 1950: deflate, window 15
    assert_eq!(packed("gzip:window=9")[0], 0x18);
    let xz = packed("xz");
    assert_eq!(xz[..8], [0xFD, b'7', b'z', b'X', b'Z', 0, 0, 1]); // check 1: CRC-32
    assert_eq!(xz[14..17], [0x21, 1, 10]); // LZMA2, one byte of properties: dictionary of 2^17 bytes
    let lzma = packed("lzma");
    assert_eq!(lzma[..5], [93, 0, 0, 2, 0]); // lc 3, lp 0, pb 2; dictionary of 2^17 bytes
    assert_eq!(lzma[5..13], 131_072u64.to_le_bytes());
    let zstd = packed("zstd");
    assert_eq!(zstd[..4], 0xFD2F_B528u32.to_le_bytes());
    assert_eq!(zstd[4], 0xA0); // 4-byte content size, single segment, no checksum, no dictionary
    assert_eq!(zstd[5..9], 131_072u32.to_le_bytes());
    let bzip2 = packed("bzip2");
    assert_eq!(bzip2[..10], *b"BZh21AY&SY"); // 200,000 bytes are enough to sort this together
    assert_eq!(packed("bzip2:level=1")[..10], *b"BZh11AY&SY");
    assert_eq!(packed("lzo")[packed("lzo").len() - 3..], [0x11, 0, 0]);
}

#[test]
fn dictionary_is_at_most_the_block_and_the_parameter() {
    let dict = |text: &str, block: usize, size| {
        compress(&mut *spec(text).encoder(block).unwrap(), &content("text", size, 9)).unwrap()[16]
    };
    assert_eq!(dict("xz", 1 << 20, 1 << 20), 16); // 2^20 bytes
    assert_eq!(dict("xz", 1 << 20, 10_000), 4); // 2^14: no more than a short block can use
    assert_eq!(dict("xz:dictsize=75%", 1 << 17, 1 << 17), 9); // 2^15 + 2^16
    assert_eq!(dict("xz", 4096, 4096), 0);
}

/// Short matches of numbers cost almost as much as their bytes. A search that never uses one does not learn their price.
#[test]
fn zstd_uses_short_matches_of_numbers() {
    let text: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    let mut out = vec![0; text.len()];
    for level in [12, 13, 15, 16, 19, 22] {
        let spec = Spec::parse(&format!("zstd:level={level}")).unwrap();
        let outcome = spec.encoder(128 << 10).unwrap().compress(text.as_bytes(), &mut out).unwrap();
        let Outcome::Smaller(size) = outcome else { panic!("level {level}: not smaller") };
        assert!(size < 8_000, "level {level}: {size} bytes");
    }
}
