//! Bare blocks of each codec: whole, cut, and only their start.

use packline_testkit::Random;

use super::*;
use crate::{Outcome, RawLzma, Spec};

const CODECS: [BareCodec; 4] = [
    BareCodec::Lz4,
    BareCodec::MicroLzma { dict_size: 1 << 17 },
    BareCodec::Deflate,
    BareCodec::Zstd { window: 1 << 17 },
];

fn content(length: usize) -> Vec<u8> {
    Random::new(3).prose(length)
}

fn packed_by(encoder: &mut dyn crate::Encoder, plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0; plain.len()];
    let Outcome::Smaller(size) = encoder.compress(plain, &mut out).unwrap() else { panic!("not smaller") };
    out.truncate(size);
    out
}

fn packed(codec: BareCodec, plain: &[u8]) -> Vec<u8> {
    let of_spec = |text: &str| packed_by(&mut *Spec::parse(text).unwrap().encoder(plain.len()).unwrap(), plain);
    match codec {
        BareCodec::Lz4 => of_spec("lz4"),
        BareCodec::Deflate => {
            let wrapped = of_spec("gzip");
            wrapped[2..wrapped.len() - 4].to_vec()
        }
        BareCodec::Zstd { .. } => of_spec("zstd:level=5"),
        BareCodec::MicroLzma { .. } => {
            let raw = RawLzma::new(5).unwrap();
            let mut bytes = packed_by(&mut *raw.encoder(plain.len()).unwrap(), plain);
            assert_eq!(bytes[0], 0);
            bytes[0] = !raw.contexts();
            bytes
        }
    }
}

fn filled(decoder: &mut BareDecoder, src: &[u8], length: usize, part: BlockPart) -> Result<Vec<u8>, CodecError> {
    let mut out = vec![0xA5; length];
    decoder.fill(src, &mut out, part).map(|()| out)
}

#[test]
fn whole_blocks_have_exactly_their_length() {
    for codec in CODECS {
        let plain = content(100_000);
        let block = packed(codec, &plain);
        let mut decoder = codec.decoder().unwrap();
        let name = codec.name();
        assert!(filled(&mut decoder, &block, plain.len(), BlockPart::Whole).unwrap() == plain, "{name}");
        for length in [plain.len() - 1, plain.len() + 1, 1] {
            let made = filled(&mut decoder, &block, length, BlockPart::Whole);
            assert!(made.is_err(), "{name}: {length}");
        }
        let longer = [&block[..], b"\0"].concat();
        assert!(filled(&mut decoder, &longer, plain.len(), BlockPart::Whole).is_err(), "{name}: a byte after the end");
        let shorter = &block[..block.len() - 1];
        assert!(filled(&mut decoder, shorter, plain.len(), BlockPart::Whole).is_err(), "{name}: a byte is missing");
        assert!(filled(&mut decoder, &block, plain.len(), BlockPart::Whole).unwrap() == plain, "{name}: recovers");
    }
}

#[test]
fn decodes_the_start_of_a_block() {
    for codec in CODECS {
        let plain = content(100_000);
        let block = packed(codec, &plain);
        let mut decoder = codec.decoder().unwrap();
        for length in (1..300).chain([4096, 65_536, 99_000, 99_999, 100_000]) {
            let made = filled(&mut decoder, &block, length, BlockPart::Start);
            assert!(made.unwrap() == plain[..length], "{}: {length}", codec.name());
        }
        let longer = filled(&mut decoder, &block, plain.len() + 1, BlockPart::Start);
        assert!(longer.is_err(), "{}: less content than wanted", codec.name());
        let cut = filled(&mut decoder, &block[..block.len() / 2], plain.len(), BlockPart::Start);
        assert!(cut.is_err(), "{}: half of the block", codec.name());
        assert!(filled(&mut decoder, &block, plain.len(), BlockPart::Whole).unwrap() == plain, "{}", codec.name());
    }
}

#[test]
fn rejects_windows_and_dictionaries_beyond_the_limit() {
    let plain = content(100_000);
    let zstd = packed(BareCodec::Zstd { window: 0 }, &plain);
    for part in [BlockPart::Whole, BlockPart::Start] {
        let mut decoder = BareCodec::Zstd { window: 65_536 }.decoder().unwrap();
        let made = filled(&mut decoder, &zstd, plain.len(), part);
        assert!(matches!(made, Err(CodecError::Memory { limit: 65_536, .. })), "{made:?}");
    }
    // A repeat over 60,000 bytes, which a dictionary of 4096 bytes does not hold.
    let far = [Random::new(1).noise(60_000), vec![0; 10], Random::new(1).noise(60_000)].concat();
    let lzma = packed(BareCodec::MicroLzma { dict_size: 0 }, &far);
    let mut large = BareCodec::MicroLzma { dict_size: 1 << 17 }.decoder().unwrap();
    assert!(filled(&mut large, &lzma, far.len(), BlockPart::Whole).unwrap() == far);
    let mut small = BareCodec::MicroLzma { dict_size: 4096 }.decoder().unwrap();
    assert!(filled(&mut small, &lzma, far.len(), BlockPart::Whole).is_err());
}

#[test]
fn rejects_skippable_frames_and_frames_with_a_dictionary() {
    let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0][..], b"text"].concat();
    let with_dictionary = [0x28, 0xB5, 0x2F, 0xFD, 0x01, 0, 7, 0x19, 0, 0, b'a', b'b', b'c'];
    let mut decoder = BareCodec::Zstd { window: 1 << 20 }.decoder().unwrap();
    for part in [BlockPart::Whole, BlockPart::Start] {
        assert!(filled(&mut decoder, &skippable, 4, part).is_err());
        assert!(filled(&mut decoder, &with_dictionary, 3, part).is_err());
    }
}

#[test]
fn damaged_blocks_never_panic() {
    let mut random = Random::new(9);
    for codec in CODECS {
        let good = packed(codec, &content(5000));
        let mut decoder = codec.decoder().unwrap();
        for _ in 0..2000 {
            let mut bad = good.clone();
            for _ in 0..=random.below(3) {
                bad[random.below(good.len() as u64) as usize] ^= 1 << random.below(8);
            }
            bad.truncate(1 + random.below(good.len() as u64) as usize);
            for part in [BlockPart::Whole, BlockPart::Start] {
                drop(filled(&mut decoder, &bad, 1 + random.below(6000) as usize, part));
            }
        }
        assert!(filled(&mut decoder, &good, 5000, BlockPart::Whole).is_ok(), "{}: recovers", codec.name());
    }
}
