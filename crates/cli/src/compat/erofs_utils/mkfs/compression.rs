//! `-z`, `-C` and `--max-extent-bytes`: the codec, and how much content is compressed together.

use packline_codec::Spec;
use packline_erofs::BlockSize;

use super::super::parse_c_number;

/// Smallest size of content that is compressed together, in bytes.
const CONTENT_LEAST: u64 = 4 << 10;
/// Largest cluster, stored, in bytes.
const CLUSTER_MOST: u64 = 1 << 20;
/// Size of a file system block in bytes.
pub const BLOCK: u64 = 4096;
/// Size of a block of a tar in bytes.
pub const TAR_BLOCK: u64 = 512;
/// Largest chunk in bytes.
const CHUNK_MOST: u64 = 1 << 30;
/// Content that is compressed together, in clusters: a cluster of erofs-utils has about twice to four times its size.
const CONTENT_OF_CLUSTER: u64 = 4;
/// Levels of lzma from here on are those of 0 to 9 with more effort.
const EXTREME: u64 = 100;

/// A compressor of `-z`.
struct Compressor {
    /// The name in erofs-utils.
    name: &'static str,
    /// The name of packline's codec.
    codec: &'static str,
    /// The smallest and the largest level, and the default; `None` without levels.
    levels: Option<(u64, u64, u64)>,
    /// The level that is meant by 0.
    zero: u64,
}

const COMPRESSORS: [Compressor; 6] = [
    Compressor { name: "lz4", codec: "lz4", levels: None, zero: 0 },
    Compressor { name: "lz4hc", codec: "lz4hc", levels: Some((0, 12, 9)), zero: 9 },
    Compressor { name: "lzma", codec: "lzma", levels: Some((0, 109, 6)), zero: 0 },
    Compressor { name: "deflate", codec: "gzip", levels: Some((1, 9, 1)), zero: 0 },
    Compressor { name: "libdeflate", codec: "gzip", levels: Some((0, 12, 1)), zero: 1 },
    Compressor { name: "zstd", codec: "zstd", levels: Some((0, 22, 3)), zero: 3 },
];

/// A value of `-z`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Algorithm {
    pub codec: Spec,
    /// The size of the dictionary that decoders need at most, in bytes, if it is given.
    pub dictionary: Option<u64>,
}

/// Parses the value of `-z`.
pub fn parse(text: &str) -> Result<Algorithm, String> {
    if text.contains(':') {
        return Err(format!("{text}: several algorithms are not supported yet; name one"));
    }
    let (name, parameters) = text.split_once(',').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let compressor = COMPRESSORS.iter().find(|compressor| compressor.name == name).ok_or_else(|| {
        let names = COMPRESSORS.map(|compressor| compressor.name).join(", ");
        format!("Cannot find a valid compressor {name} (expected one of {names})")
    })?;
    let mut level = None;
    let mut dictionary = None;
    let mut rest = Vec::new();
    for parameter in parameters.iter().flat_map(|parameters| parameters.split(',')) {
        match parameter.split_once('=') {
            Some(("level", number)) => level = Some(parse_level(compressor, number)?),
            Some(("dictsize", size)) => dictionary = Some(parse_size(size)?),
            Some(("lc" | "lp" | "pb", _)) if name == "lzma" => rest.push(parameter.to_string()),
            None if rest.is_empty() && level.is_none() => level = Some(parse_level(compressor, parameter)?),
            _ => return Err(format!("'{parameter}' is not a parameter of {name}")),
        }
    }
    let level = level.or(compressor.levels.map(|(.., default)| default));
    let words = level.map(|level| level_of(compressor, level)).into_iter().chain(rest);
    let words = words.collect::<Vec<_>>().join(",");
    let codec = Spec::parse_with_name(compressor.codec, &words).map_err(|error| error.to_string())?;
    Ok(Algorithm { codec, dictionary })
}

fn parse_level(compressor: &Compressor, text: &str) -> Result<u64, String> {
    let Some((least, most, _)) = compressor.levels else {
        return Err(format!("invalid compression level {text}: {} has no levels", compressor.name));
    };
    let level: Option<u64> = text.parse().ok();
    let is_gap = |level: u64| compressor.name == "lzma" && (10..EXTREME).contains(&level);
    level.filter(|level| (least..=most).contains(level) && !is_gap(*level)).ok_or_else(|| {
        let range =
            if compressor.name == "lzma" { "0 to 9, or 100 to 109".to_string() } else { format!("{least} to {most}") };
        format!("invalid compression level {text} (expected {range})")
    })
}

/// Returns the parameters of packline's codec for a level.
fn level_of(compressor: &Compressor, level: u64) -> String {
    match level {
        0 if compressor.zero > 0 => format!("level={}", compressor.zero),
        level if level >= EXTREME => format!("level={},extreme", level - EXTREME),
        level => format!("level={level}"),
    }
}

/// Parses a number of bytes as strtoull(3) does, with an optional suffix k, m or g.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = parse_c_number(digits)?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("'{text}' is too large"))
}

/// Parses the value of `-C`: the size of a cluster.
pub fn parse_cluster(text: &str) -> Result<u64, String> {
    let size = parse_size(text)?;
    let is_valid = (BLOCK..=CLUSTER_MOST).contains(&size) && size.is_multiple_of(BLOCK);
    let expected = "a multiple of 4096, at most 1 MiB";
    if is_valid { Ok(size) } else { Err(format!("invalid physical clustersize {text} (expected {expected})")) }
}

/// Parses the value of `-b`, which is rounded down to a power of two.
pub fn parse_block(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        size if (TAR_BLOCK..=BLOCK).contains(&size) => Ok(1 << size.ilog2()),
        _ => Err(format!("invalid block size {text} (expected 4096, the page size)")),
    }
}

/// Parses the value of `--async-queue-limit`: a number of entries, or 0 for a number that is chosen.
pub fn parse_queue(text: &str) -> Result<u64, String> {
    let is_valid = |entries: &u64| *entries == 0 || entries.is_power_of_two();
    let expected = "expected 0 or a power of two";
    parse_c_number(text).ok().filter(is_valid).ok_or_else(|| format!("invalid async-queue-limit {text} ({expected})"))
}

/// Parses the value of `--chunksize`.
pub fn parse_chunk(text: &str) -> Result<u64, String> {
    let size = parse_size(text)?;
    let is_valid = size.is_power_of_two() && (BLOCK..=CHUNK_MOST).contains(&size);
    if is_valid { Ok(size) } else { Err(format!("invalid chunksize {text} (expected a power of two, 4096 to 1 GiB)")) }
}

/// Parses the value of `--max-extent-bytes`. A negative value is a size without alignment.
pub fn parse_extent(text: &str) -> Result<u64, String> {
    match parse_size(text.strip_prefix('-').unwrap_or(text))? {
        0 => Ok(u64::MAX),
        size if size >= CONTENT_LEAST => Ok(size),
        _ => Err(format!("invalid maximum compressed extent size {text} (expected at least 4096)")),
    }
}

/// Returns the size of content that is compressed together, for a cluster size and a largest extent.
///
/// # Errors
/// A message if a dictionary of the given size is too small for the content.
pub fn content_size(cluster: u64, extent: Option<u64>, algorithm: Option<&Algorithm>) -> Result<BlockSize, String> {
    let content = (cluster * CONTENT_OF_CLUSTER).min(extent.unwrap_or(u64::MAX));
    let content = content.clamp(CONTENT_LEAST, BlockSize::MAX.into());
    // The largest power of two.
    let content = 1 << (u64::BITS - 1 - content.leading_zeros());
    if let Some(dictionary) = algorithm.and_then(|algorithm| algorithm.dictionary).filter(|size| *size < content) {
        let hint = format!("-C {} needs no larger dictionary", (dictionary / CONTENT_OF_CLUSTER).max(BLOCK));
        return Err(format!("dictsize={dictionary} is less than the {content} bytes compressed together; {hint}"));
    }
    BlockSize::new(content).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translates_names_and_levels() {
        for (text, codec) in [
            ("lz4", "lz4"),
            ("lz4hc", "lz4hc:level=9"),
            ("lz4hc,12", "lz4hc"),
            ("lz4hc,0", "lz4hc:level=9"),
            ("lzma", "lzma:level=6"),
            ("lzma,109", "lzma:level=9,extreme"),
            ("lzma,level=6,lc=2,dictsize=1m", "lzma:level=6,lc=2"),
            ("deflate", "gzip:level=1"),
            ("libdeflate,0", "gzip:level=1"),
            ("libdeflate,12", "gzip:level=12"),
            ("zstd,level=19", "zstd:level=19"),
            ("zstd", "zstd:level=3"),
        ] {
            assert_eq!(parse(text).unwrap().codec, Spec::parse(codec).unwrap(), "{text}");
        }
        for (text, expected) in [
            ("none", "Cannot find a valid compressor none"),
            ("lz4,3", "invalid compression level 3: lz4 has no levels"),
            ("lzma,10", "invalid compression level 10 (expected 0 to 9, or 100 to 109)"),
            ("zstd,23", "invalid compression level 23"),
            ("deflate,0", "invalid compression level 0 (expected 1 to 9)"),
            ("zstd,level=x", "invalid compression level x"),
            ("zstd,lc=3", "'lc=3' is not a parameter of zstd"),
            ("lz4:zstd", "lz4:zstd: several algorithms are not supported yet; name one"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.starts_with(expected), "{fault}");
        }
    }

    #[test]
    fn content_is_four_clusters() {
        let size = |cluster, extent| content_size(cluster, extent, None).map(|size| size.bytes() as u64);
        assert_eq!(size(4096, None), Ok(16 << 10));
        assert_eq!(size(64 << 10, None), Ok(256 << 10));
        assert_eq!(size(1 << 20, None), Ok(1 << 20));
        assert_eq!(size(64 << 10, Some(100_000)), Ok(64 << 10));
        let small = parse("lzma,dictsize=32k").unwrap();
        assert!(content_size(64 << 10, None, Some(&small)).unwrap_err().contains("-C 8192"));
        assert!(content_size(8192, None, Some(&small)).is_ok());
    }

    #[test]
    fn parses_sizes() {
        assert_eq!((parse_size("0x10k"), parse_size("1M"), parse_size("7")), (Ok(16 << 10), Ok(1 << 20), Ok(7)));
        assert_eq!((parse_cluster("64k"), parse_extent("-131072")), (Ok(64 << 10), Ok(128 << 10)));
        for wrong in ["", "k", "5000", "2m", "0"] {
            assert!(parse_cluster(wrong).is_err(), "{wrong}");
        }
        assert_eq!((parse_block("4096"), parse_block("4095"), parse_block("1000")), (Ok(4096), Ok(2048), Ok(512)));
        assert!(["4097", "8192", "500", "0"].iter().all(|wrong| parse_block(wrong).is_err()));
        assert_eq!((parse_queue("0"), parse_queue("0x10")), (Ok(0), Ok(16)));
        for wrong in ["5", "x", "-1", ""] {
            assert!(parse_queue(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
        assert_eq!((parse_chunk("1m"), parse_chunk("4096")), (Ok(1 << 20), Ok(4096)));
        for wrong in ["2048", "12288", "2g", "x"] {
            assert!(parse_chunk(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
