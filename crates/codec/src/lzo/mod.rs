//! LZO: raw LZO1X blocks (Linux `Documentation/staging/lzo.rst`), by our own encoders.

mod decode;
mod fast;
mod finder;
mod four;
mod interior;
mod parse;
mod position_matches;
mod prices;
#[cfg(test)]
mod tests;
mod writer;

use crate::parameters::{Choice, ListWriter, items};
use crate::traits::Compressor;
use crate::{CodecError, Decoder};
use fast::Fast;
use parse::Optimal;

pub(crate) const NAME: &str = "lzo";

pub(crate) const HELP: &str = "\
lzo: raw LZO1X blocks
  algorithm=NAME     lzo1x_1, lzo1x_1_11, lzo1x_1_12, lzo1x_1_15 or lzo1x_999 (default)
  level=1..9         with lzo1x_999 only (default 8); also compression-level=
All algorithms write the same format. The lzo1x_1 family is fast and uses the first match found (the last two
digits are the size of its table); lzo1x_999 searches for the shortest encoding of a block.
";

const KNOWN: &str = "algorithm, level";

/// The encoder name that containers store. All encoders write the same format. The `lzo1x_1` family uses the first match found, as in the
/// original, and `lzo1x_999` searches for the shortest encoding of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LzoAlgorithm {
    /// `lzo1x_1`: a table of 2^14 positions.
    Lzo1x1,
    /// `lzo1x_1_11`: 2^11.
    Lzo1x1_11,
    /// `lzo1x_1_12`: 2^12.
    Lzo1x1_12,
    /// `lzo1x_1_15`: 2^15.
    Lzo1x1_15,
    /// `lzo1x_999`, the only one with levels.
    #[default]
    Lzo1x999,
}

impl Choice for LzoAlgorithm {
    const ALL: &'static [Self] = &[
        LzoAlgorithm::Lzo1x1,
        LzoAlgorithm::Lzo1x1_11,
        LzoAlgorithm::Lzo1x1_12,
        LzoAlgorithm::Lzo1x1_15,
        LzoAlgorithm::Lzo1x999,
    ];

    fn name(self) -> &'static str {
        match self {
            LzoAlgorithm::Lzo1x1 => "lzo1x_1",
            LzoAlgorithm::Lzo1x1_11 => "lzo1x_1_11",
            LzoAlgorithm::Lzo1x1_12 => "lzo1x_1_12",
            LzoAlgorithm::Lzo1x1_15 => "lzo1x_1_15",
            LzoAlgorithm::Lzo1x999 => "lzo1x_999",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LzoParams {
    pub algorithm: LzoAlgorithm,
    /// Search effort of [`LzoAlgorithm::Lzo1x999`], 1 to 9. Default 8.
    pub level: u32,
}

impl LzoParams {
    pub const DEFAULT_LEVEL: u32 = 8;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = LzoParams::default();
        let mut level = None;
        for item in items(NAME, list) {
            match item.key {
                "algorithm" => params.algorithm = item.choice()?,
                "level" | "compression-level" => level = Some(item.number(1..=9)?),
                _ => return Err(item.unknown(KNOWN)),
            }
        }
        if let (Some(level), true) = (level, params.algorithm != LzoAlgorithm::Lzo1x999) {
            let found = format!("level={level} with algorithm={}", params.algorithm.name());
            return Err(conflict(found, "algorithm=lzo1x_999, the only one with levels"));
        }
        params.level = level.unwrap_or(params.level);
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = ListWriter::default();
        printed.value("algorithm", self.algorithm.name(), LzoAlgorithm::default().name());
        if self.algorithm == LzoAlgorithm::Lzo1x999 {
            printed.value("level", self.level, Self::DEFAULT_LEVEL);
        }
        printed.list()
    }

    pub(crate) fn check(&self) -> Result<(), CodecError> {
        if (1..=9).contains(&self.level) {
            return Ok(());
        }
        Err(conflict(format!("level={}", self.level), "1 to 9"))
    }
}

impl Default for LzoParams {
    fn default() -> Self {
        LzoParams { algorithm: LzoAlgorithm::default(), level: Self::DEFAULT_LEVEL }
    }
}

fn conflict(found: String, expected: &str) -> CodecError {
    CodecError::Conflict { codec: NAME, found, expected: expected.to_owned() }
}

pub(crate) enum LzoEncoder {
    /// Greedy.
    Fast(Fast),
    /// Shortest encoding.
    Optimal(Box<Optimal>),
}

impl LzoEncoder {
    pub(crate) fn new(params: &LzoParams) -> Self {
        match table_bits(params.algorithm) {
            Some(bits) => LzoEncoder::Fast(Fast::new(bits)),
            None => LzoEncoder::Optimal(Box::new(Optimal::new(params.level))),
        }
    }

    /// Memory of an encoder in bytes.
    pub(crate) fn memory(params: &LzoParams) -> usize {
        table_bits(params.algorithm).map_or(Optimal::MEMORY, Fast::memory)
    }
}

/// Binary logarithm of the table size of a fast algorithm.
fn table_bits(algorithm: LzoAlgorithm) -> Option<u32> {
    match algorithm {
        LzoAlgorithm::Lzo1x1 => Some(14),
        LzoAlgorithm::Lzo1x1_11 => Some(11),
        LzoAlgorithm::Lzo1x1_12 => Some(12),
        LzoAlgorithm::Lzo1x1_15 => Some(15),
        LzoAlgorithm::Lzo1x999 => None,
    }
}

impl Compressor for LzoEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(match self {
            LzoEncoder::Fast(fast) => fast.try_compress(src, out),
            LzoEncoder::Optimal(optimal) => optimal.try_compress(src, out),
        })
    }
}

pub(crate) struct LzoDecoder;

impl Decoder for LzoDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        decode::decode(src, dst)
    }
}
