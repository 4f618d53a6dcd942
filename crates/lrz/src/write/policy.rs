//! Parameters of a back end and a level: the coder, the block size, the shortest match worth an opcode.

use packline_codec::{CodecError, GzipParams, LzoAlgorithm, LzoParams, RawLzma, Spec, StreamSpec};
use packline_longrange::Match;
use packline_runtime::Unsupported;

use super::coder::Coder;
use crate::format::LzmaProps;
use crate::{BackEnd, Error, WriteOptions};

const LEVELS: std::ops::RangeInclusive<u32> = 1..=9;
/// Size of stored blocks: what a reader reads at once.
const STORED_BLOCK: usize = 8 << 20;
/// lzo and gzip look back less than 64 KiB: a block of many times that loses nothing at its start.
const SHORT_SIGHTED_BLOCK: usize = 4 << 20;
/// Longest block of LZMA, bytes.
const LZMA_BLOCK: usize = 92 << 20;
/// Minimum match length for back ends that find short repeats cheaply.
const LEAST_BEFORE_STRONG: u64 = 48;
/// Minimum match length worth an opcode; shorter matches are cheaper when the back end finds them itself.
/// A larger one makes files of mixed content smaller by 0.1 %, and those of many versions of one thing larger by 4 %.
const LEAST_NEAR: u64 = 64;
/// gzip looks back only 32 KiB, but codes words in less than a byte each.
const LEAST_BEFORE_GZIP: u64 = 28;
/// Levels of gzip, whose highest is 12, that opcodes are compressed above literals.
const ABOVE_FOR_OPCODES: u32 = 3;
/// lzo finds little beyond a few KiB, and stored blocks nothing.
const LEAST_BEFORE_WEAK: u64 = 24;

/// How blocks are compressed. A function of the back end and the level alone.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) coder: Coder,
    /// The coder of stream 0, if it differs.
    pub(super) opcodes: Option<Coder>,
    /// Maximum block size, bytes.
    pub(super) block: usize,
    /// Minimum match length, bytes.
    pub(super) least: u64,
    /// Distance within which the coder itself finds matches better, bytes: matches there need [`LEAST_NEAR`] bytes.
    near: u64,
    /// Level of the search for matches.
    pub(super) level: u32,
    /// Whether blocks are tested before they are compressed.
    pub(super) probe: bool,
}

impl Policy {
    /// # Errors
    /// [`Error::Unsupported`] for other levels.
    pub(super) fn new(options: &WriteOptions) -> Result<Policy, Error> {
        let level = options.level;
        if !LEVELS.contains(&level) {
            return Err(Unsupported::new(format!("level {level}"), "1 to 9").into());
        }
        let (coder, block) = coder(options.back_end, level)?;
        let weak = matches!(options.back_end, BackEnd::None | BackEnd::Lzo | BackEnd::Gzip);
        let least = match options.back_end {
            BackEnd::Gzip => LEAST_BEFORE_GZIP,
            _ if weak => LEAST_BEFORE_WEAK,
            _ => LEAST_BEFORE_STRONG,
        };
        let effort = if weak { level } else { effort_before_strong(level) };
        let near = reach(&coder);
        let opcodes = opcodes(options.back_end, level);
        Ok(Policy { coder, opcodes, block, least, near, level: effort, probe: options.probe && !weak })
    }

    /// Whether a match is worth an opcode.
    pub(super) fn wants(&self, found: &Match) -> bool {
        found.distance > self.near || found.length >= LEAST_NEAR
    }

    /// Upper bound of the memory of a worker's tools for blocks of up to `block` bytes.
    pub(super) fn tools(&self, block: usize) -> u64 {
        self.coder.memory(block) + self.opcodes.as_ref().map_or(0, |coder| coder.memory(block))
    }

    /// Whether blocks are compressed at all.
    pub(super) fn compresses(&self) -> bool {
        !matches!(self.coder, Coder::Stored)
    }

    /// Whether compression takes much longer than the search for matches.
    pub(super) fn is_slow(&self) -> bool {
        matches!(self.coder, Coder::Bzip2(_) | Coder::Lzma(_) | Coder::Zpaq(_))
    }

    /// The LZMA properties in the magic.
    pub(super) fn lzma(&self) -> Option<LzmaProps> {
        match &self.coder {
            Coder::Lzma(lzma) => Some(LzmaProps { contexts: lzma.contexts(), dict_size: lzma.dict_size() }),
            _ => None,
        }
    }
}

/// With a slow back end the search costs little, and its matches need not be compressed: it is done one level higher, while half a gigabyte
/// suffices for it.
fn effort_before_strong(level: u32) -> u32 {
    if level < 8 { level + 1 } else { level }
}

/// Distance within which a coder finds short repeats and codes them better than opcodes do, bytes. The fast levels of LZMA miss too many,
/// and zpaq would take longer with more input.
fn reach(coder: &Coder) -> u64 {
    match coder {
        Coder::Lzma(lzma) if lzma.uses_optimal_parsing() => u64::from(lzma.dict_size()),
        _ => 0,
    }
}

/// The coder and its block size.
fn coder(back_end: BackEnd, level: u32) -> Result<(Coder, usize), CodecError> {
    Ok(match back_end {
        BackEnd::None => (Coder::Stored, STORED_BLOCK),
        BackEnd::Lzo => (Coder::Plain(BackEnd::Lzo, Spec::Lzo(lzo(level))), SHORT_SIGHTED_BLOCK),
        BackEnd::Gzip => (gzip(level), SHORT_SIGHTED_BLOCK),
        BackEnd::Bzip2 => {
            let spec = StreamSpec::parse(&format!("bzip2:level={level}"))?;
            (Coder::Bzip2(spec), spec.chunk())
        }
        BackEnd::Lzma => {
            let lzma = RawLzma::new(level)?;
            (Coder::Lzma(lzma), lzma_block(lzma.dict_size()))
        }
        BackEnd::Zpaq => (Coder::Zpaq(level / 4 + 1), 16 << 20),
    })
}

/// Opcodes are few bytes, but up to half of a file of many versions: gzip's optimal parsing, which is slow, pays.
fn opcodes(back_end: BackEnd, level: u32) -> Option<Coder> {
    (back_end == BackEnd::Gzip).then(|| gzip(level + ABOVE_FOR_OPCODES))
}

fn gzip(level: u32) -> Coder {
    Coder::Plain(BackEnd::Gzip, Spec::Gzip(GzipParams { level, ..GzipParams::default() }))
}

/// Each block begins without a dictionary, so it should be several times as long. 92 MiB, with an encoder at level 7 and the block's
/// output, fit half a gigabyte.
fn lzma_block(dict_size: u32) -> usize {
    (4 * dict_size as usize).clamp(16 << 20, LZMA_BLOCK)
}

/// lzo is chosen for its speed; only the highest levels favour size.
fn lzo(level: u32) -> LzoParams {
    match level {
        8.. => LzoParams { algorithm: LzoAlgorithm::Lzo1x999, level },
        _ => LzoParams { algorithm: LzoAlgorithm::Lzo1x1, ..LzoParams::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(level: u32, length: u64, distance: u64) -> bool {
        let policy = Policy::new(&WriteOptions { level, ..WriteOptions::default() }).unwrap();
        policy.wants(&Match { at: 1 << 30, length, distance })
    }

    #[test]
    fn short_repeats_within_the_dictionary_are_left_to_lzma() {
        assert!(!wants(7, 63, 1 << 20));
        assert!(wants(7, 64, 1 << 20));
        assert!(wants(7, 48, (24 << 20) + 1));
        assert!(!wants(9, 48, (24 << 20) + 1));
        assert!(wants(4, 48, 1 << 20), "a fast level");
    }
}
