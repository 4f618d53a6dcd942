//! Encoders that fill whole units: what they encode decodes to a start of the input, and they leave little space unused.

use crate::bare::blocks;
use crate::common::{content, spec};
use packline_codec::{BareDecoder, BlockPart, Capacity, CodecError, Fitted, FittingEncoder};
use packline_testkit::Random;
use proptest::prelude::*;

const LARGEST: usize = 131_072;
const UNIT: usize = 4096;

/// Specifications that cover each way to cut.
const SPECS: &[&str] = &[
    "lz4",
    "lz4:acceleration=8",
    "lz4:hc,level=3",
    "lz4:hc",
    "gzip",
    "gzip:level=1",
    "gzip:level=12",
    "gzip:engine=zlib",
    "gzip:window=9",
    "gzip:default,filtered,huffman,rle,fixed",
    "lzma",
    "lzma:level=0",
    "lzma:level=3,lc=0,lp=2",
    "lzma:level=4",
    "zstd:level=-5",
    "zstd:level=1",
    "zstd:level=3",
    "zstd:level=5",
    "zstd:level=9",
    "zstd:level=11",
    "zstd:level=12",
    "zstd",
    "zstd:level=18",
];

struct Pair {
    text: &'static str,
    encoder: Box<dyn FittingEncoder>,
    decoder: BareDecoder,
    largest: usize,
    unit: usize,
}

impl Pair {
    fn new(text: &'static str, largest: usize, unit: usize) -> Pair {
        let encoder = spec(text).fitting_encoder(largest, unit).unwrap();
        let decoder = spec(text).bare_codec(largest).unwrap().unwrap().decoder().unwrap();
        Pair { text, encoder, decoder, largest, unit }
    }

    /// Encodes a start, decodes it and checks all rules. Returns the result and its content.
    fn check(&mut self, src: &[u8], capacity: Capacity) -> Option<(Vec<u8>, usize)> {
        let input = src.len().min(self.largest);
        let mut out = vec![0xA5; input];
        let Fitted { content, stored } = self.encoder.fit(src, capacity, &mut out).unwrap()?;
        out.truncate(stored);
        let what = format!("{}: {capacity:?} of {} bytes: {content} in {stored}", self.text, src.len());
        assert!(content <= input && stored < content && out[0] != 0, "{what}");
        match capacity {
            Capacity::Any => assert_eq!(content, input, "{what}"),
            Capacity::Bytes(most) => assert!(stored <= most, "{what}"),
            Capacity::Units => assert!(stored.next_multiple_of(self.unit) < content, "{what}"),
        }
        let mut back = vec![0x5A; content];
        self.decoder.fill(&out, &mut back, BlockPart::Whole).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(back == src[..content], "{what}");
        Some((out, content))
    }
}

/// How the clusters of a content fill their units.
#[derive(Debug, Default)]
struct Fill {
    /// Clusters that were not cut, the last one among them.
    whole: usize,
    cut: usize,
    /// Bytes that clusters leave unused that were cut.
    waste: usize,
}

/// Encodes a content cluster by cluster, as a container does.
fn fill(pair: &mut Pair, src: &[u8]) -> Fill {
    let mut fill = Fill::default();
    let mut at = 0;
    while at < src.len() {
        let rest = &src[at..];
        let capacity = if rest.len() > pair.largest { Capacity::Units } else { Capacity::Any };
        let Some((block, content)) = pair.check(rest, capacity) else {
            at += rest.len().min(pair.unit);
            continue;
        };
        at += content;
        if content == rest.len().min(pair.largest) {
            fill.whole += 1;
        } else {
            fill.cut += 1;
            fill.waste += block.len().next_multiple_of(pair.unit) - block.len();
        }
    }
    fill
}

#[test]
fn cuts_hard_blocks_of_any_size() {
    for text in SPECS {
        let mut pair = Pair::new(text, LARGEST, UNIT);
        for block in blocks() {
            let longer = [&block[..], &block[..5000]].concat();
            let whole = pair.check(&longer, Capacity::Any);
            let units = pair.check(&longer, Capacity::Units);
            assert!(whole.is_some() || units.is_none(), "{text}");
            for most in [100, 4096, 5000, 40_000] {
                pair.check(&longer, Capacity::Bytes(most));
            }
            for length in [4096, 15_000] {
                pair.check(&block[..length], Capacity::Units);
                pair.check(&block[..length], Capacity::Bytes(length / 5));
            }
        }
    }
}

#[test]
fn cuts_short_inputs_and_tiny_units() {
    for text in SPECS {
        let mut pair = Pair::new(text, 1024, 64);
        for size in (0..70).chain([255, 1000, 1023, 1024, 1025, 3000]) {
            for kind in ["zeros", "text", "code", "random"] {
                let src = content(kind, size, size as u64);
                pair.check(&src, Capacity::Units);
                pair.check(&src, Capacity::Any);
                (0..size).step_by(7).for_each(|most| drop(pair.check(&src, Capacity::Bytes(most))));
            }
        }
        for unit in [1, 2, 512] {
            let mut pair = Pair::new(text, 30_000, unit);
            fill(&mut pair, &content("text", 100_000, 1));
        }
    }
}

/// A test's own program is real data that is always there: machine code, text and tables.
fn program() -> Vec<u8> {
    let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    bytes.truncate(3 << 20);
    bytes
}

#[test]
fn leaves_little_space_unused() {
    let mut random = Random::new(21);
    let program = program();
    for text in SPECS {
        let most = match text.split(':').next() {
            Some("lz4") => 16,
            Some("lzma") => 32,
            Some("gzip") => 64,
            _ => 160,
        };
        for src in [&program[..], &random.prose(1 << 20), &content("mixed", 1 << 20, 2)] {
            let mut pair = Pair::new(text, LARGEST, UNIT);
            let fill = fill(&mut pair, src);
            assert!(fill.cut > fill.whole, "{text}: {fill:?}");
            let waste = fill.waste / fill.cut;
            println!("{text}: waste {waste} {fill:?}");
            assert!(waste <= most, "{text}: {waste} {fill:?}");
        }
    }
}

#[test]
fn keeps_whole_inputs_where_a_cut_saves_nothing() {
    let mut cuts = 0;
    for text in SPECS {
        let mut pair = Pair::new(text, LARGEST, UNIT);
        // All of it in one unit.
        let zeros = vec![0; LARGEST + 1];
        assert_eq!(pair.check(&zeros, Capacity::Units).unwrap().1, LARGEST, "{text}");
        let prose = Random::new(3).prose(LARGEST);
        let (block, _) = pair.check(&prose, Capacity::Any).unwrap();
        assert!(pair.check(&prose, Capacity::Bytes(LARGEST)).unwrap().0 == block, "{text}");
        let longer = [&prose[..], b"more"].concat();
        let (cut, shorter) = pair.check(&longer, Capacity::Units).unwrap();
        let units = cut.len().div_ceil(UNIT);
        assert!(shorter == LARGEST && cut == block || units == block.len() / UNIT, "{text}: {shorter}");
        cuts += usize::from(shorter < LARGEST);
    }
    assert!(cuts > SPECS.len() / 2, "{cuts}");
}

#[test]
fn content_that_does_not_get_smaller_is_reported() {
    let noise = Random::new(4).noise(LARGEST + 5000);
    for text in SPECS {
        let mut pair = Pair::new(text, LARGEST, UNIT);
        for length in [0, 1, 2, 100, 4096, 8192, LARGEST, LARGEST + 5000] {
            for capacity in [Capacity::Any, Capacity::Units, Capacity::Bytes(4096)] {
                assert_eq!(pair.check(&noise[..length], capacity), None, "{text}: {length}");
            }
        }
        // 5000 bytes that take a bit less: two units, as many as stored plain.
        let few = [&noise[..4500], &[0; 500]].concat();
        assert_eq!(pair.check(&few, Capacity::Units), None, "{text}");
        assert!(pair.check(&few, Capacity::Any).is_some(), "{text}");
    }
    let mut none = spec("none").fitting_encoder(LARGEST, UNIT).unwrap();
    assert_eq!(none.fit(&[0; 9000], Capacity::Units, &mut [0; 9000]), Ok(None));
}

#[test]
fn more_space_holds_at_least_as_much() {
    let program = program();
    let src = &program[1 << 20..][..LARGEST];
    for text in ["lz4", "lz4:hc", "gzip", "gzip:level=12", "lzma", "lzma:level=1"] {
        let mut pair = Pair::new(text, LARGEST, UNIT);
        let mut before = 0;
        for most in (2000..5000).step_by(83).chain((30_000..31_000).step_by(97)) {
            let content = pair.check(src, Capacity::Bytes(most)).map_or(0, |(_, content)| content);
            assert!(content >= before, "{text}: {content} bytes in {most}, {before} in less");
            before = content;
        }
        assert!(before > 31_000, "{text}");
    }
}

#[test]
fn result_does_not_depend_on_earlier_inputs() {
    let program = program();
    let both = &program[..2 * LARGEST];
    for text in SPECS.iter().copied().chain(["lzma:level=max", "zstd:level=max"]) {
        let mut used = Pair::new(text, LARGEST, UNIT);
        for (start, capacity) in [
            (0, Capacity::Units),
            (70_000, Capacity::Bytes(9000)),
            (100_000, Capacity::Any),
            (3, Capacity::Units),
            (130_000, Capacity::Units),
        ] {
            let copy = both[start..].to_vec();
            let fresh = Pair::new(text, LARGEST, UNIT).check(&copy, capacity);
            assert!(used.check(&both[start..], capacity) == fresh, "{text}: {start} {capacity:?}");
        }
    }
}

#[test]
fn rejects_wrong_sizes_and_codecs() {
    let error = |text: &str, largest, unit| spec(text).fitting_encoder(largest, unit).map(drop).unwrap_err();
    for unit in [0, 8193] {
        assert_eq!(error("lz4", 8192, unit), CodecError::BlockSize { codec: "lz4", found: unit, limit: 8192 });
    }
    assert!(error("zstd", (1 << 20) + 1, UNIT).to_string().contains("1048576"));
    assert!(error("xz", LARGEST, UNIT).to_string().starts_with("EROFS has no xz"));
    assert!(spec("zle").fitting_footprint(LARGEST).is_err());
    let mut encoder = spec("lz4").fitting_encoder(4096, 1024).unwrap();
    let too_small = CodecError::DestinationTooSmall { found: 4095, expected: 4096 };
    assert_eq!(encoder.fit(&[0; 5000], Capacity::Units, &mut [0; 4095]), Err(too_small));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn cuts_any_words(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..60), 1..30), choices in prop::collection::vec(0usize..30, 1..2000), most in 1usize..9000) {
        let src: Vec<u8> = choices.iter().flat_map(|choice| words[choice % words.len()].clone()).collect();
        for text in SPECS {
            let mut pair = Pair::new(text, 16_384, 512);
            pair.check(&src, Capacity::Bytes(most));
            fill(&mut pair, &src);
        }
    }
}
