//! The parameters for a back end and a level: the coder, the block size, the shortest match worth an opcode.

use packline_codec::{CodecError, GzipParams, LzoAlgorithm, LzoParams, RawLzma, Spec, StreamSpec};
use packline_longrange::Match;
use packline_runtime::Unsupported;

use super::coder::Coder;
use crate::format::LzmaProps;
use crate::{BackEnd, Error, WriteOptions};

const LEVELS: std::ops::RangeInclusive<u32> = 1..=9;
/// Size of stored blocks. A reader reads this many bytes at once.
const STORED_BLOCK: usize = 8 << 20;
/// Block size of lzo and gzip. They look back less than 64 KiB, so a much larger block loses little at its start.
const SHORT_SIGHTED_BLOCK: usize = 4 << 20;
/// Upper bound for a block of LZMA, in bytes.
const LZMA_BLOCK: usize = 92 << 20;
/// Minimum match length for back ends that find short repeats cheaply.
const LEAST_BEFORE_STRONG: u64 = 48;
/// Minimum length of a near match. The back end codes shorter near matches in fewer bytes itself. A larger minimum makes files of mixed
/// content smaller by 0.1 %, and files with many versions of one thing larger by 4 %.
const LEAST_NEAR: u64 = 64;
/// Minimum match length for gzip, which looks back only 32 KiB, but codes words in less than a byte each.
const LEAST_BEFORE_GZIP: u64 = 28;
/// gzip compresses opcodes at a level that is this much higher than the level of literals. The highest level is 12.
const ABOVE_FOR_OPCODES: u32 = 3;
/// Minimum match length for lzo, which finds little beyond a few KiB, and for stored blocks.
const LEAST_BEFORE_WEAK: u64 = 24;

/// How blocks are compressed. It depends only on the back end and the level.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) coder: Coder,
    /// The coder of stream 0, if it differs.
    pub(super) opcodes: Option<Coder>,
    /// Maximum block size in bytes.
    pub(super) block: usize,
    /// Minimum match length in bytes.
    pub(super) least: u64,
    /// Distance in bytes within which the coder finds matches better itself. Matches within it need [`LEAST_NEAR`] bytes.
    near: u64,
    /// The level of the search for matches.
    pub(super) level: u32,
    /// Whether blocks are tested before they are compressed.
    pub(super) probe: bool,
}

impl Policy {
    /// # Errors
    /// [`Error::Unsupported`] if the level is not from 1 to 9.
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

    /// Upper bound for the memory of a worker's tools for blocks of up to `block` bytes.
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

/// Returns the level of the search for a slow back end. The search is then cheap, and its matches need not be compressed, so it is one level
/// higher while half a gigabyte is enough.
fn effort_before_strong(level: u32) -> u32 {
    if level < 8 { level + 1 } else { level }
}

/// Returns the distance in bytes within which a coder finds short repeats and codes them better than opcodes. The fast levels of LZMA miss
/// too many repeats, and zpaq would take longer with more input.
fn reach(coder: &Coder) -> u64 {
    match coder {
        Coder::Lzma(lzma) if lzma.uses_optimal_parsing() => u64::from(lzma.dict_size()),
        _ => 0,
    }
}

/// Returns the coder and its block size.
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

/// Returns the coder of opcodes, if it differs. Opcodes are few bytes, but up to half of a file with many versions, so gzip's slow optimal
/// parsing pays.
fn opcodes(back_end: BackEnd, level: u32) -> Option<Coder> {
    (back_end == BackEnd::Gzip).then(|| gzip(level + ABOVE_FOR_OPCODES))
}

fn gzip(level: u32) -> Coder {
    Coder::Plain(BackEnd::Gzip, Spec::Gzip(GzipParams { level, ..GzipParams::default() }))
}

/// Returns the block size of LZMA. Each block begins with an empty dictionary, so it is several times as long as the dictionary. 92 MiB, an
/// encoder at level 7 and the block's output fit in half a gigabyte.
fn lzma_block(dict_size: u32) -> usize {
    (4 * dict_size as usize).clamp(16 << 20, LZMA_BLOCK)
}

/// Users choose lzo for its speed, so only the highest levels favour size.
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
    fn leaves_short_repeats_within_the_dictionary_to_lzma() {
        assert!(!wants(7, 63, 1 << 20));
        assert!(wants(7, 64, 1 << 20));
        assert!(wants(7, 48, (24 << 20) + 1));
        assert!(!wants(9, 48, (24 << 20) + 1));
        assert!(wants(4, 48, 1 << 20), "a fast level");
    }
}
