//! Blocks without a header: round trips, and how they differ from blocks of other containers.

use crate::common::{KINDS, SPECS, compress, content, crowded, spec};
use packline_codec::{BareCodec, BareDecoder, BlockPart, CodecError, Encoder, Spec};
use packline_testkit::Random;

/// A codec that has blocks without a header, with its encoder and decoder.
struct Pair {
    text: &'static str,
    encoder: Box<dyn Encoder>,
    decoder: BareDecoder,
}

impl Pair {
    fn new(text: &'static str, largest: usize) -> Option<Pair> {
        let codec = spec(text).bare_codec(largest).ok()??;
        Some(Pair { text, encoder: spec(text).bare_encoder(largest).unwrap(), decoder: codec.decoder().unwrap() })
    }

    /// Compresses a block and decompresses the result. Returns the result, or `None` if it is not smaller.
    fn check(&mut self, src: &[u8]) -> Option<Vec<u8>> {
        let packed = compress(&mut *self.encoder, src)?;
        assert_ne!(packed[0], 0, "{}: {} bytes", self.text, src.len());
        let mut back = vec![0xA5; src.len()];
        self.decoder.fill(&packed, &mut back, BlockPart::Whole).unwrap();
        assert!(back == src, "{}: {} bytes came back changed", self.text, src.len());
        let start = src.len() / 2;
        self.decoder.fill(&packed, &mut back[..start], BlockPart::Start).unwrap();
        assert!(back[..start] == src[..start], "{}: the start of {} bytes", self.text, src.len());
        Some(packed)
    }
}

/// All codecs of the list that have blocks without a header.
fn pairs(largest: usize) -> Vec<Pair> {
    let found: Vec<Pair> = SPECS.iter().filter_map(|text| Pair::new(text, largest)).collect();
    assert!(found.len() > 20);
    found
}

/// Content of each kind, and content that is hard for searches or for coders.
pub fn blocks() -> Vec<Vec<u8>> {
    let mut random = Random::new(11);
    let noise = random.noise(131_072);
    let text = random.prose(131_072);
    let mut blocks: Vec<Vec<u8>> = KINDS.iter().map(|kind| content(kind, 131_072, 5)).collect();
    blocks.push(crowded(131_072, 3));
    blocks.push([&noise[..70_000], &text[..61_072]].concat());
    blocks.push([&text[..61_072], &noise[..70_000]].concat());
    blocks.push([&noise[..40_000], &vec![0; 51_072], &noise[..40_000]].concat());
    blocks.push([&vec![0; 120_000], &noise[..11_072]].concat());
    blocks.push(noise[..4096].iter().flat_map(|byte| [*byte, 0, 0, 0]).collect());
    blocks
}

#[test]
fn round_trips_small_blocks_of_all_sizes() {
    for mut pair in pairs(1024) {
        for size in (2..=70).chain([255, 256, 257, 511, 512, 1000, 1024]) {
            for kind in KINDS {
                pair.check(&content(kind, size, size as u64));
            }
        }
    }
}

#[test]
fn round_trips_hard_blocks() {
    for mut pair in pairs(131_072) {
        for block in blocks() {
            pair.check(&block);
        }
        for size in [4095, 4096, 4097, 16_385, 131_071] {
            let text = content("text", size, 7);
            assert!(pair.check(&text).is_some(), "{}: {size} bytes", pair.text);
        }
        assert_eq!(pair.check(&content("random", 131_072, 1)), None, "{}", pair.text);
    }
}

#[test]
fn round_trips_the_largest_blocks() {
    let largest = BareCodec::LARGEST;
    for mut pair in pairs(largest) {
        assert!(pair.check(&content("mixed", largest, 3)).is_some(), "{}", pair.text);
    }
}

#[test]
fn result_does_not_depend_on_earlier_blocks() {
    for mut used in pairs(131_072) {
        for block in blocks() {
            let mut fresh = Pair::new(used.text, 131_072).unwrap();
            assert!(used.check(&block) == fresh.check(&block), "{}", used.text);
        }
    }
}

/// A stored block that is not the last one begins with a byte whose low bits are 0. The other bits are ignored.
#[test]
fn deflate_does_not_begin_with_zero() {
    let mut random = Random::new(12);
    let block = [random.noise(70_000), random.prose(61_072)].concat();
    let mut stored = 0;
    for text in ["gzip", "gzip:level=1", "gzip:level=12", "gzip:engine=zlib", "gzip:window=9"] {
        let wrapped = compress(&mut *spec(text).encoder(131_072).unwrap(), &block).unwrap();
        let bare = Pair::new(text, 131_072).unwrap().check(&block).unwrap();
        assert_eq!(bare[0], if wrapped[2] == 0 { 0xF8 } else { wrapped[2] }, "{text}");
        assert!(bare[1..] == wrapped[3..wrapped.len() - 4], "{text}");
        stored += usize::from(wrapped[2] == 0);
    }
    assert!(stored >= 2, "{stored}");
}

#[test]
fn names_differ_where_blocks_differ() {
    let block = content("text", 131_072, 9);
    for mut pair in pairs(131_072) {
        let spec = spec(pair.text);
        let usual = compress(&mut *spec.encoder(131_072).unwrap(), &block);
        let bare = pair.check(&block);
        assert_eq!(bare == usual, spec.bare_name() == spec.to_string(), "{}", pair.text);
        // LZMA has neither a header of 13 bytes nor an end mark; DEFLATE has neither a header of 2 nor a checksum of 4.
        let saved = usual.unwrap().len() - bare.unwrap().len();
        let (least, most) = match spec {
            Spec::Gzip(_) => (6, 6),
            Spec::Lzma(_) => (13, 24),
            _ => (0, 0),
        };
        assert!((least..=most).contains(&saved), "{}: {saved}", pair.text);
    }
    for (text, name) in [
        ("gzip", "deflate"),
        ("gzip:level=12", "deflate:level=12"),
        ("lzma", "microlzma"),
        ("lzma:level=9,lc=0", "microlzma:level=9,lc=0"),
        ("lz4:hc", "lz4:hc"),
        ("zstd:level=3", "zstd:level=3"),
    ] {
        assert_eq!(spec(text).bare_name(), name);
    }
}

#[test]
fn states_what_decoders_need() {
    let codec = |text: &str, largest| spec(text).bare_codec(largest).unwrap();
    assert_eq!(codec("none", 4096), None);
    assert_eq!(codec("lz4:hc", 4096), Some(BareCodec::Lz4));
    assert_eq!(codec("gzip:window=9", 4096), Some(BareCodec::Deflate));
    assert_eq!(codec("lzma", 131_072), Some(BareCodec::MicroLzma { dict_size: 131_072 }));
    assert_eq!(codec("lzma", 100), Some(BareCodec::MicroLzma { dict_size: 8192 }));
    assert_eq!(codec("lzma:dictsize=64K", 131_072), Some(BareCodec::MicroLzma { dict_size: 65_536 }));
    assert_eq!(codec("zstd", 131_073), Some(BareCodec::Zstd { window: 262_144 }));
    assert_eq!(codec("zstd", 1), Some(BareCodec::Zstd { window: 1024 }));
    assert_eq!(codec("zstd", BareCodec::LARGEST), Some(BareCodec::Zstd { window: 1 << 20 }));
}

#[test]
fn rejects_other_codecs_and_sizes() {
    for name in ["xz", "lzo", "bzip2", "huff0", "zle"] {
        let error = spec(name).bare_encoder(4096).map(drop).unwrap_err();
        let expected = format!("EROFS has no {name} (expected one of none, lz4, lz4hc, lzma, gzip, zstd)");
        assert_eq!(error.to_string(), expected);
        assert_eq!(spec(name).bare_footprint(4096), Err(error));
    }
    let unknown = Spec::parse_bare("brotli").unwrap_err();
    let expected = "unknown codec 'brotli' (expected one of none, lz4, lz4hc, lzma, gzip, zstd)";
    assert_eq!(unknown.to_string(), expected);
    assert_eq!(Spec::parse_bare("lzma:lc=2"), Spec::parse("lzma:lc=2"));
    for text in ["none", "lz4", "gzip", "lzma", "zstd"] {
        for size in [0, BareCodec::LARGEST + 1] {
            let error = spec(text).bare_encoder(size).map(drop).unwrap_err();
            let expected = CodecError::BlockSize { codec: spec(text).name(), found: size, limit: 1 << 20 };
            assert_eq!(error, expected);
        }
    }
    assert!(spec("lzma:dictsize=70%").bare_encoder(131_072).is_err());
}

#[test]
fn none_never_gets_smaller() {
    assert_eq!(compress(&mut *spec("none").bare_encoder(4096).unwrap(), &[0; 4096]), None);
}
