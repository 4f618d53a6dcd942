//! Huff0 against zstd, whose literals have the same format, in both directions.

use crate::common::{KINDS, MEMORY, content};
use packline_codec::{CodecError, Decoder, Huff0Block, Huff0Decoder, Huff0Encoder, Huff0Streams, Outcome, Spec};
use proptest::prelude::*;

const MAX: usize = 128 << 10;

/// A frame of one block without matches, whose literals are `payload` (RFC 8878, 3.1.1).
fn frame(payload: &[u8], size: usize, streams: Huff0Streams) -> Vec<u8> {
    let mut literals = literals_head(payload.len(), size, streams);
    literals.extend_from_slice(payload);
    literals.push(0); // no sequences
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend_from_slice(&(size as u32).to_le_bytes());
    frame.extend_from_slice(&(1 | 2 << 1 | (literals.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend_from_slice(&literals);
    frame
}

fn literals_head(packed: usize, size: usize, streams: Huff0Streams) -> Vec<u8> {
    let (format, bits) = match (streams, size.max(packed)) {
        (Huff0Streams::One, _) => (0, 10),
        (_, 0..1024) => (1, 10),
        (_, 0..16_384) => (2, 14),
        _ => (3, 18),
    };
    let head = 2 | format << 2 | (size as u64) << 4 | (packed as u64) << (4 + bits);
    head.to_le_bytes()[..(4 + 2 * bits) / 8 + usize::from((4 + 2 * bits) % 8 > 0)].to_vec()
}

fn zstd(frame: &[u8], size: usize) -> Result<Vec<u8>, CodecError> {
    let mut out = vec![0; size];
    let made = Spec::parse("zstd").unwrap().decoder(MAX, MEMORY).unwrap().decompress(frame, &mut out)?;
    assert_eq!(made, size);
    Ok(out)
}

fn ours(payload: &[u8], size: usize, streams: Huff0Streams) -> Result<Vec<u8>, CodecError> {
    let mut out = vec![0; size];
    Huff0Decoder::new().decompress_block(payload, &mut out, streams).map(|()| out)
}

fn pack(src: &[u8], streams: Huff0Streams) -> (Huff0Block, Vec<u8>) {
    let mut out = vec![0; src.len() + 8];
    let outcome = Huff0Encoder::new().compress_block(src, &mut out, streams).unwrap();
    if let Huff0Block::Compressed(size) = outcome {
        out.truncate(size);
    }
    (outcome, out)
}

/// Checks that both decoders read our output. Returns true if the content was compressible.
fn both_read(src: &[u8], streams: Huff0Streams) -> bool {
    let (outcome, packed) = pack(src, streams);
    let Huff0Block::Compressed(_) = outcome else { return false };
    assert!(packed.len() < src.len());
    assert!(ours(&packed, src.len(), streams).unwrap() == src);
    // zstd writes one stream only for up to 1023 bytes. It rejects a block that is larger than its content, with 6 bytes of headers.
    let fits = (streams == Huff0Streams::Four || src.len() < 1024) && packed.len() + 6 < src.len();
    assert!(!fits || zstd(&frame(&packed, src.len(), streams), src.len()).unwrap() == src);
    true
}

#[test]
fn zstd_reads_our_blocks() {
    let mut read = 0;
    for kind in KINDS {
        for size in [1, 2, 11, 12, 13, 50, 255, 256, 257, 1000, 1023, 4096, 9999, 32 << 10, MAX - 1, MAX] {
            for streams in [Huff0Streams::One, Huff0Streams::Four] {
                read += usize::from(both_read(&content(kind, size, 7), streams));
            }
        }
    }
    assert!(read > 40, "{read} blocks were worth compressing");
}

#[test]
fn round_trips_alphabets_of_every_size() {
    for symbols in 2..=256_usize {
        // Squares make small symbols frequent.
        let src: Vec<u8> =
            (0..3000_usize).map(|at| (at * at % 9973 * at % symbols * (at % symbols) / symbols) as u8).collect();
        both_read(&src, Huff0Streams::Four);
    }
}

struct Literals<'a> {
    payload: &'a [u8],
    size: usize,
    streams: Huff0Streams,
}

/// The compressed literals with a new code in the blocks of a frame.
fn literals(frame: &[u8]) -> Vec<Literals<'_>> {
    let single = frame[4] >> 5 & 1;
    let sizes = [usize::from(single), 2, 4, 8][usize::from(frame[4] >> 6)];
    let mut at = 5 + usize::from(1 - single) + sizes;
    let mut found = Vec::new();
    loop {
        let head = u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], 0]);
        let kind = head >> 1 & 3;
        let size = (head >> 3) as usize;
        let block = &frame[at + 3..at + 3 + if kind == 1 { 1 } else { size }];
        if kind == 2 && block[0] & 3 == 2 {
            found.push(literals_of(block));
        }
        at += 3 + block.len();
        if head & 1 == 1 {
            return found;
        }
    }
}

fn literals_of(block: &[u8]) -> Literals<'_> {
    let (bits, length) = [(10, 3), (10, 3), (14, 4), (18, 5)][usize::from(block[0] >> 2 & 3)];
    let mut head = [0; 8];
    head[..length].copy_from_slice(&block[..length]);
    let head = u64::from_le_bytes(head) >> 4;
    let size = head as usize & ((1 << bits) - 1);
    let packed = (head >> bits) as usize & ((1 << bits) - 1);
    let streams = if block[0] >> 2 & 3 == 0 { Huff0Streams::One } else { Huff0Streams::Four };
    Literals { payload: &block[length..length + packed], size, streams }
}

#[test]
fn we_read_blocks_of_zstd() {
    let mut one = 0;
    let mut four = 0;
    for kind in KINDS {
        for size in [200, 600, 3000, 20_000, MAX] {
            for level in ["level=1", "level=9", "level=19"] {
                let src = content(kind, size, 3);
                let mut packed = vec![0; size];
                let spec = Spec::parse(&format!("zstd:{level}")).unwrap();
                let Outcome::Smaller(length) = spec.encoder(size).unwrap().compress(&src, &mut packed).unwrap() else {
                    continue;
                };
                for literals in literals(&packed[..length]) {
                    let Literals { payload, size, streams } = literals;
                    let expected = zstd(&frame(payload, size, streams), size).unwrap();
                    assert!(ours(payload, size, streams).unwrap() == expected);
                    one += usize::from(streams == Huff0Streams::One);
                    four += usize::from(streams == Huff0Streams::Four);
                }
            }
        }
    }
    assert!(one > 0 && four > 5, "{one} sections of one stream, {four} of four");
}

#[test]
fn known_vector() {
    // The weights of RFC 8878's example (4.2.1): 4, 3, 2, 0, 1, and 1 for the symbol 5. The codes of 0, 1, 2, 4, 5 are 1, 01, 001, 0000,
    // 0001. After the mark, from the last bit on: 1 01 0000 0001, and 28 times 1.
    let block = [127 + 5, 0x43, 0x20, 0x10, 0xff, 0xff, 0xff, 0x1f, 0xd0];
    let mut content = vec![0, 1, 4, 5];
    content.extend([0; 28]);
    assert_eq!(ours(&block, 32, Huff0Streams::One).as_ref(), Ok(&content));
    assert_eq!(zstd(&frame(&block, 32, Huff0Streams::One), 32), Ok(content));
}

#[test]
fn outcomes_are_typed() {
    assert_eq!(pack(&[], Huff0Streams::Four).0, Huff0Block::NotCompressible);
    assert_eq!(pack(&[9; 5000], Huff0Streams::Four).0, Huff0Block::SingleSymbol(9));
    assert_eq!(pack(&[9], Huff0Streams::One).0, Huff0Block::SingleSymbol(9));
    assert_eq!(pack(&content("random", 70_000, 1), Huff0Streams::Four).0, Huff0Block::NotCompressible);
    let long = Huff0Encoder::new().compress_block(&[0; MAX + 1], &mut [], Huff0Streams::Four);
    assert_eq!(long, Err(CodecError::BlockTooLarge { found: MAX + 1, limit: MAX }));
}

/// The encoder never writes beyond the destination, however small it is. A result that fits is always the same.
#[test]
fn never_writes_beyond_the_destination() {
    let src = content("text", 3000, 5);
    let (_, whole) = pack(&src, Huff0Streams::Four);
    for capacity in (0..whole.len() + 20).rev().step_by(if cfg!(debug_assertions) { 3 } else { 1 }) {
        let mut dst = vec![0xaa; capacity + 8];
        let outcome = Huff0Encoder::new().compress_block(&src, &mut dst[..capacity], Huff0Streams::Four).unwrap();
        let fits = capacity >= whole.len();
        assert_eq!(outcome, if fits { Huff0Block::Compressed(whole.len()) } else { Huff0Block::NotCompressible });
        assert!(!fits || dst[..whole.len()] == whole[..]);
        assert_eq!(dst[capacity..], [0xaa; 8]);
    }
}

#[test]
fn names_the_fault_of_a_description() {
    let stated = |block: &[u8]| ours(block, 100, Huff0Streams::Four).unwrap_err().to_string();
    for (block, reason) in [
        (&[][..], "the description of the code is missing"),
        (&[127 + 4, 0x11], "the description of the code is cut off"),
        (&[60, 1, 2, 3], "the description of the code is cut off"),
        (&[127 + 2, 0x00], "all weights are 0"),
        (&[127 + 2, 0xd1], "a weight of more than 12"),
        (&[127 + 4, 0xcc, 0xcc], "codes of more than 12 bits"),
        (&[127 + 3, 0x44, 0x10], "weights whose rest for the last symbol is not a power of two"),
        (&[127 + 1, 0x20], "weights that do not form a tree"),
        (&[3, 0x0f, 0, 0], "a distribution of weights with more than 64 states"),
        (&[127 + 1, 0x10, 1, 2, 3], "a jump table that is cut off"),
        (&[127 + 1, 0x10, 9, 0, 0, 0, 0, 0, 1], "a stream that is cut off"),
        (&[127 + 1, 0x10, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1], "a stream without an end mark"),
        (&[127 + 1, 0x10, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1], "a stream that ends before the last symbol"),
    ] {
        assert!(stated(block).contains(reason), "{block:?}: {}", stated(block));
    }
    let long = ours(&[127 + 1, 0x10, 0xff, 0xff], 3, Huff0Streams::One).unwrap_err().to_string();
    assert!(long.contains("a stream that continues after the last symbol"), "{long}");
}

#[test]
fn rejects_bad_block_headers() {
    let mut out = [0; 1000];
    let mut read = |bytes: &[u8]| Huff0Decoder::new().decompress(bytes, &mut out);
    assert_eq!(read(&[3 << 2, 0, 0, 1, 2, 3, 4]), Ok(4), "stored");
    assert_eq!(read(&[1 | 3 << 2, 0, 0, 7, 0, 0, 0, 9]), Ok(5), "a single symbol, and one byte stored");
    for (bytes, reason) in [
        (&[][..], "no block"),
        (&[0, 0], "a block header that is cut off"),
        (&[0, 0, 0x08, 1], "a block header with bits that must be 0"),
        (&[2, 0, 0, 0, 0x80, 1], "a block header with bits that must be 0"),
        (&[3 << 2, 0, 0, 1, 2, 3], "a block that is cut off"),
        (&[2, 0, 0, 1, 0, 1], "a block that is cut off"),
    ] {
        let found = read(bytes).unwrap_err().to_string();
        assert!(found.contains(reason), "{bytes:?}: {found}");
    }
    let too_long = read(&[1 | 0xfc, 0x0f, 0, 7]);
    assert_eq!(too_long, Err(CodecError::TooLong { codec: "huff0", size: 4, capacity: 1000 }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn round_trips_any_content(
        size in prop_oneof![1_usize..300, 1_usize..5000, 1_usize..300_000],
        symbols in 1_u64..=256,
        power in 1_u32..8,
        seed in any::<u64>(),
    ) {
        let mut numbers = crate::common::Numbers::new(seed);
        let src: Vec<u8> = (0..size).map(|_| (0..power).map(|_| numbers.below(symbols)).min().unwrap_or(0) as u8).collect();
        let mut packed = vec![0; size];
        if let Outcome::Smaller(length) = Spec::Huff0.encoder(size).unwrap().compress(&src, &mut packed).unwrap() {
            prop_assert!(length < size);
            let mut back = vec![0; size];
            prop_assert_eq!(Huff0Decoder::new().decompress(&packed[..length], &mut back), Ok(size));
            prop_assert!(back == src);
            let short = Huff0Decoder::new().decompress(&packed[..length], &mut back[..size - 1]);
            let too_long = CodecError::TooLong { codec: "huff0", size: length, capacity: size - 1 };
            prop_assert_eq!(short, Err(too_long));
        }
        both_read(&src[..size.min(MAX)], Huff0Streams::Four);
    }

    #[test]
    fn damage_never_panics(
        kind in prop::sample::select(KINDS),
        size in 20_usize..20_000,
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let src = content(kind, size, 11);
        let mut packed = vec![0; size];
        if let Outcome::Smaller(length) = Spec::Huff0.encoder(size).unwrap().compress(&src, &mut packed).unwrap() {
            packed.truncate(length);
            for (place, byte) in &places {
                *place.get_mut(&mut packed) = *byte;
            }
            packed.truncate(length - cut.index(length) / 8);
            let mut out = vec![0; size];
            let _ = Huff0Decoder::new().decompress(&packed, &mut out);
        }
    }
}
