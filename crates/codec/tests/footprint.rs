//! The memory that a codec states is an upper bound of the memory that it uses, but not much more.
//!
//! This test is alone in its file, because it asks the C library's allocator how much the complete process holds.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(unsafe_code)] // asks the C library
#![allow(clippy::unwrap_used, clippy::panic)] // a test may

#[path = "codecs/common/mod.rs"]
mod common;

use std::io::Read;

use common::{MEMORY, SPECS, compress, content, spec};
use packline_codec::{BareCodec, BlockPart, Capacity, RawLzma, ZpaqEncoder, ZpaqReader};

/// `struct mallinfo2` of glibc (malloc.h).
#[repr(C)]
struct Mallinfo2 {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

unsafe extern "C" {
    fn mallinfo2() -> Mallinfo2;
}

/// Bytes allocated by this process.
fn held() -> usize {
    // SAFETY: no precondition.
    let info = unsafe { mallinfo2() };
    info.uordblks + info.hblkhd
}

/// Returns a complaint if the stated memory is less than the used memory, or much more.
fn complaint(who: &str, took: usize, stated: usize) -> Option<String> {
    let fair = (took..=took * 2 + 128 * 1024).contains(&stated);
    (!fair).then(|| format!("{who} took {took}, stated {stated}"))
}

fn encoder(text: &str, size: usize) -> (Option<Vec<u8>>, Option<String>) {
    let spec = spec(text);
    let src = content("text", size, 1);
    let short = content("code", size / 3, 1);
    let before = held();
    let mut encoder = spec.encoder(size).unwrap();
    let packed = compress(&mut *encoder, &src);
    let result = packed.as_ref().map_or(0, Vec::capacity);
    let first = held();
    drop(compress(&mut *encoder, &short));
    let took = first.max(held()).saturating_sub(before + result);
    (packed, complaint(&format!("{text}, {size}: encoder"), took, spec.footprint(size).encoder))
}

fn decoder(text: &str, size: usize, packed: &[u8]) -> Option<String> {
    let spec = spec(text);
    let mut back = vec![0; size];
    let before = held();
    let mut decoder = spec.decoder(size, MEMORY).unwrap();
    decoder.decompress(packed, &mut back).unwrap();
    let took = held().saturating_sub(before);
    complaint(&format!("{text}, {size}: decoder"), took, spec.footprint(size).decoder)
}

/// zpaq holds a model only while it works, so that the memory is measured within a block.
fn zpaq(level: u32) -> Option<String> {
    let packed = compress(&mut ZpaqEncoder::new(level).unwrap(), &content("text", 9000, 1)).unwrap();
    let stated = ZpaqEncoder::footprint(level).unwrap();
    let before = held();
    let mut reader = ZpaqReader::new(&packed[..], stated.decoder);
    reader.read_exact(&mut [0; 4000]).unwrap();
    let took = held().saturating_sub(before);
    drop(reader);
    assert!(held() <= before + 4096, "zpaq {level} keeps memory");
    complaint(&format!("zpaq {level}"), took, stated.decoder)
        .or_else(|| complaint(&format!("zpaq {level}"), took, stated.encoder))
}

/// bzip2 also holds memory only while it works. The memory of a level does not depend on the content.
fn bzip2(size: usize) -> Option<String> {
    let src = content("random", size, 1);
    let level = (size * 5 / 4 + 20).div_ceil(100_000).min(9) as u32;
    let mut dst = vec![0; size + 1000];
    let before = held();
    let mut coder = bzip2::Compress::new(bzip2::Compression::new(level), 0);
    coder.compress(&src, &mut dst, bzip2::Action::Run).unwrap();
    let took = held().saturating_sub(before);
    complaint(&format!("bzip2, {size}: encoder"), took, spec("bzip2").footprint(size).encoder)
}

/// Memory that a decoder of the highest level holds after the first half of a stream.
fn bzip2_decoder() -> Option<String> {
    let packed = compress(&mut *spec("bzip2").encoder(1 << 20).unwrap(), &content("text", 1 << 20, 1)).unwrap();
    let mut dst = vec![0; 4096];
    let before = held();
    let mut coder = bzip2::Decompress::new(false);
    coder.decompress(&packed, &mut dst).unwrap();
    let took = held().saturating_sub(before);
    complaint("bzip2: decoder", took, spec("bzip2").footprint(1 << 20).decoder)
}

/// Returns a block without a header.
fn bare_block(codec: BareCodec, plain: &[u8]) -> Vec<u8> {
    let packed = |text: &str| compress(&mut *spec(text).encoder(plain.len()).unwrap(), plain).unwrap();
    match codec {
        BareCodec::Lz4 => packed("lz4"),
        BareCodec::Zstd { .. } => packed("zstd:level=5"),
        BareCodec::Deflate => {
            let wrapped = packed("gzip");
            wrapped[2..wrapped.len() - 4].to_vec()
        }
        BareCodec::MicroLzma { .. } => {
            let raw = RawLzma::new(5).unwrap();
            let mut block = compress(&mut *raw.encoder(plain.len()).unwrap(), plain).unwrap();
            block[0] = !raw.contexts();
            block
        }
    }
}

/// An encoder of blocks without a header.
fn bare_encoder(text: &str, size: usize) -> Option<String> {
    let spec = spec(text);
    let stated = spec.bare_footprint(size).ok()?.encoder;
    let src = content("text", size, 1);
    let before = held();
    let mut encoder = spec.bare_encoder(size).unwrap();
    let packed = compress(&mut *encoder, &src);
    let took = held().saturating_sub(before + packed.as_ref().map_or(0, Vec::capacity));
    complaint(&format!("{text}, {size}: encoder without a header"), took, stated)
}

/// An encoder that fills whole units.
fn fitting_encoder(text: &str, size: usize) -> Option<String> {
    let spec = spec(text);
    let stated = spec.fitting_footprint(size).ok()?.encoder;
    let src = content("text", size + 1, 1);
    let mut dst = vec![0; size];
    let before = held();
    let mut encoder = spec.fitting_encoder(size, 512).unwrap();
    for capacity in [Capacity::Units, Capacity::Bytes(size / 10), Capacity::Any] {
        encoder.fit(&src, capacity, &mut dst).unwrap();
    }
    let took = held().saturating_sub(before);
    complaint(&format!("{text}, {size}: encoder that fills units"), took, stated)
}

/// A decoder of blocks without a header, after a block and the start of one.
fn bare_decoder(codec: BareCodec) -> Option<String> {
    let plain = content("text", 100_000, 1);
    let block = bare_block(codec, &plain);
    let mut back = vec![0; plain.len()];
    let before = held();
    let mut decoder = codec.decoder().unwrap();
    decoder.fill(&block, &mut back[..50_000], BlockPart::Start).unwrap();
    decoder.fill(&block, &mut back, BlockPart::Whole).unwrap();
    let took = held().saturating_sub(before);
    complaint(&format!("{codec:?}"), took, codec.memory())
}

#[test]
fn memory_stays_within_the_footprint() {
    let more = ["zstd:level=22", "zstd:level=9", "lzma:extreme", "gzip:level=10", "gzip:level=2", "xz:dictsize=25%"];
    let mut complaints = Vec::new();
    for text in SPECS.iter().copied().filter(|text| !text.starts_with("bzip2")).chain(more) {
        for size in [4096, 131_072, 262_144] {
            if text.contains('%') && size != 131_072 {
                continue; // a quarter of these bytes is not a dictionary
            }
            let (packed, complaint) = encoder(text, size);
            complaints.extend(complaint);
            complaints.extend(bare_encoder(text, size));
            complaints.extend(fitting_encoder(text, size));
            complaints.extend(fitting_encoder(text, size + size / 8));
            complaints.extend(packed.and_then(|packed| decoder(text, size, &packed)));
        }
    }
    complaints.extend((1..=3).filter_map(zpaq));
    complaints.extend([4096, 131_072, 262_144, 1 << 20].into_iter().filter_map(bzip2).chain(bzip2_decoder()));
    let window = 1 << 20;
    let bare =
        [BareCodec::Lz4, BareCodec::MicroLzma { dict_size: window }, BareCodec::Deflate, BareCodec::Zstd { window }];
    complaints.extend(bare.into_iter().filter_map(bare_decoder));
    assert!(complaints.is_empty(), "{complaints:#?}");
}
