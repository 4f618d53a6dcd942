//! Blocks of our own encoder, decoded by the library.

use packline_testkit::Random;
use proptest::prelude::*;

use super::LARGEST;
use crate::search::hard_inputs::{de_bruijn, fibonacci, periodic};
use crate::{Bcj, Choice, Decoder, Encoder, LzmaModel, LzmaParams, Outcome, Set, Spec, XzParams};

/// Levels of each kind of search.
const LEVELS: [u32; 3] = [4, 6, 9];

fn xz(model: LzmaModel) -> Spec {
    Spec::Xz(XzParams { model, filters: Set::EMPTY, auto: false })
}

/// An encoder and a decoder.
struct Pair(Box<dyn Encoder>, Box<dyn Decoder>);

impl Pair {
    fn new(spec: &Spec, size: usize) -> Pair {
        Pair(spec.encoder(size).unwrap(), spec.decoder(size, 1 << 30).unwrap())
    }

    /// Compresses a block, decompresses the result and compares it. Returns the result, or `None` if it is not smaller.
    fn check(&mut self, src: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0; src.len()];
        let Outcome::Smaller(size) = self.0.compress(src, &mut out).unwrap() else { return None };
        out.truncate(size);
        let mut back = vec![0; src.len()];
        assert_eq!(self.1.decompress(&out, &mut back), Ok(src.len()));
        assert!(back == src, "{} bytes", src.len());
        Some(out)
    }
}

/// The specs of all levels and both formats.
fn specs() -> impl Iterator<Item = Spec> {
    LEVELS
        .into_iter()
        .flat_map(|level| [xz(LzmaModel::new(level)), Spec::Lzma(LzmaParams { model: LzmaModel::new(level) })])
}

#[test]
fn round_trips_sizes_at_edges() {
    let text = Random::new(3).prose(LARGEST);
    for spec in specs() {
        let mut pair = Pair::new(&spec, LARGEST);
        for size in
            (0..70).chain([255, 256, 273, 274, 275, 547, 2047, 2048, 2049, 16_383, 16_384, 16_385, 65_535, 65_536])
        {
            pair.check(&text[..size]);
            pair.check(&vec![7; size]);
        }
        for size in [131_072, LARGEST - 1, LARGEST] {
            let made = pair.check(&text[..size]).unwrap();
            assert!(made.len() < size / 2, "{spec} {size}: {}", made.len());
            assert!(pair.check(&vec![0; size]).unwrap().len() < 400);
        }
    }
}

#[test]
fn handles_hard_inputs() {
    for spec in specs() {
        let mut pair = Pair::new(&spec, 1 << 17);
        for period in [2, 3, 31, 64] {
            let made = pair.check(&periodic(period));
            assert!(made.unwrap().len() < 260, "{spec} {period}");
        }
        assert_eq!(pair.check(&Random::new(1).noise(1 << 17)), None);
        assert!(pair.check(&fibonacci(1 << 17)).unwrap().len() < 2000);
        assert!(pair.check(&de_bruijn()).unwrap().len() < 10_000);
    }
}

#[test]
fn writes_plain_chunks_between_coded_ones() {
    let mut random = Random::new(5);
    let text = random.prose(150_000);
    let noise = random.noise(150_000);
    for spec in specs() {
        let mut pair = Pair::new(&spec, LARGEST);
        for pieces in [&[&text, &noise, &text, &noise][..], &[&noise, &text, &noise, &text], &[&noise, &noise, &text]] {
            let block: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
            let made = pair.check(&block).unwrap();
            let most = block.len() - if pieces.len() == 4 { 300_000 } else { 200_000 };
            assert!(made.len() < most + 2000, "{spec}: {} of {}", made.len(), block.len());
        }
    }
}

#[test]
fn encoder_output_does_not_depend_on_earlier_blocks() {
    let mut random = Random::new(6);
    let blocks =
        [random.prose(70_000), fibonacci(131_072), random.noise(60_000), de_bruijn(), vec![0; 3000], random.prose(9)];
    for spec in specs() {
        let mut used = Pair::new(&spec, 1 << 17);
        for block in blocks.iter().chain(&blocks) {
            assert!(used.check(block) == Pair::new(&spec, 1 << 17).check(block), "{spec}");
        }
    }
}

#[test]
fn matches_stay_within_the_dictionary() {
    let piece = Random::new(7).noise(12_000);
    let block = piece.repeat(8);
    for (text, is_small) in [
        ("xz:dictsize=8K", false),
        ("xz:dictsize=12K", true),
        ("xz:level=4,dictsize=8K", false),
        ("lzma:dictsize=8K", false),
        ("lzma:dictsize=12K", true),
    ] {
        let made = Pair::new(&Spec::parse(text).unwrap(), block.len()).check(&block);
        // Decoders have a larger buffer than the dictionary, so that only the size shows the difference.
        assert_eq!(made.is_some(), is_small, "{text}");
    }
}

#[test]
fn filters_equal_those_of_the_library() {
    let mut random = Random::new(8);
    // Bytes that occur in branches of all machines, often enough for the filters.
    let code = [
        0xe8, 0xe9, 0x00, 0xff, 0x48, 0x01, 0x40, 0x7f, 0xc0, 0xeb, 0xf0, 0xf8, 0x94, 0x97, 0x90, 0x10, 0x50, 0x17,
        0xef, 0x13,
    ];
    for filter in Bcj::ALL {
        for size in [16, 17, 18, 19, 3001, 70_000, LARGEST] {
            let block: Vec<u8> = random.noise(size).iter().map(|byte| code[usize::from(*byte) % code.len()]).collect();
            let mut made = block.clone();
            filter.encode(&mut made);
            assert!(size < 3000 || made != block, "{filter:?}");
            let mut out = vec![0; size + 1000];
            let mut search = super::LzmaSearch::new(
                super::search_of(4, false).unwrap(),
                super::Contexts { lc: 3, lp: 0, pb: 2 },
                1 << 20,
            );
            let end = crate::xz::encode_stream(&mut search, Some(*filter), 1 << 20, &block, &mut out).unwrap().unwrap();
            let mut back = vec![0; size];
            let mut decoder = Spec::parse("xz").unwrap().decoder(size, 1 << 30).unwrap();
            assert_eq!(decoder.decompress(&out[..end], &mut back), Ok(size));
            assert!(back == block, "{filter:?} {size}");
        }
    }
}

#[test]
fn memory_is_counted() {
    for spec in specs() {
        let [small, large] = [1 << 12, LARGEST].map(|size| spec.footprint(size).encoder);
        assert!(small < 3 << 20 && large < 20 << 20, "{spec}: {small} {large}");
        assert!(spec.footprint(2 * LARGEST).encoder > 15 << 20, "the library's too");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn round_trips_blocks(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..30), 1..40), choices in prop::collection::vec(0usize..40, 0..4000), lc in 0u32..=4, lp in 0u32..=4, pb in 0u32..=4, level in 0usize..3) {
        let src = choices.iter().flat_map(|choice| words[choice % words.len()].clone()).collect::<Vec<_>>();
        let model = LzmaModel { lc, lp: lp.min(4 - lc), pb, ..LzmaModel::new(LEVELS[level]) };
        for spec in [xz(model.clone()), Spec::Lzma(LzmaParams { model })] {
            let mut pair = Pair::new(&spec, 1 << 17);
            let whole = pair.check(&src);
            pair.check(&src[src.len() / 3..]);
            prop_assert!(pair.check(&src) == whole);
        }
    }
}
