//! LZO: raw LZO1X blocks (Linux `Documentation/staging/lzo.rst`), by one encoder whatever the algorithm.

use lzokay::Error;
use lzokay::compress::{Dict, compress_no_alloc};

use crate::bounded::Press;
use crate::item::{Printed, items};
use crate::names::LZO;
use crate::set::Choice;
use crate::{CodecError, Decoder};

/// Names of all parameters, for error messages.
const KNOWN: &str = "algorithm, level";

/// The encoder that other tools would use. All make streams of the same format; ours stands in for each of them, and a
/// container records which was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LzoAlgorithm {
    /// `lzo1x_1`.
    Lzo1x1,
    /// `lzo1x_1_11`.
    Lzo1x1_11,
    /// `lzo1x_1_12`.
    Lzo1x1_12,
    /// `lzo1x_1_15`.
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

/// What a user may choose of lzo. Neither changes a compressed byte: both are for containers to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LzoParams {
    /// The algorithm to record.
    pub algorithm: LzoAlgorithm,
    /// The level to record with [`LzoAlgorithm::Lzo1x999`], 1 to 9. Default 8.
    pub level: u32,
}

impl LzoParams {
    /// Level when none is chosen.
    pub const DEFAULT_LEVEL: u32 = 8;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = LzoParams::default();
        let mut level = None;
        for item in items(LZO, list) {
            match item.key {
                "algorithm" => params.algorithm = item.choice()?,
                "level" | "compression-level" => level = Some(item.number(1..=9)?),
                _ => return Err(item.unknown(KNOWN)),
            }
        }
        if let (Some(level), true) = (level, params.algorithm != LzoAlgorithm::Lzo1x999) {
            let found = format!("level={level} with algorithm={}", params.algorithm.name());
            return Err(conflict(found, "algorithm=lzo1x_999: no other has levels"));
        }
        params.level = level.unwrap_or(params.level);
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = Printed::default();
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
    CodecError::Conflict { codec: LZO, found, expected: expected.to_owned() }
}

/// Compresses raw blocks.
pub(crate) struct LzoEncoder(Box<Dict>);

impl LzoEncoder {
    /// An encoder.
    pub(crate) fn new() -> Self {
        LzoEncoder(Dict::new())
    }
}

impl Press for LzoEncoder {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        match compress_no_alloc(src, room, &mut self.0) {
            Ok(size) => Ok(Some(size)),
            Err(Error::OutputOverrun) => Ok(None),
            Err(_) => Err(CodecError::Library { codec: LZO, function: "compress_no_alloc", code: 0 }),
        }
    }
}

/// Decompresses raw blocks.
pub(crate) struct LzoDecoder;

impl Decoder for LzoDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let (size, room) = (src.len(), dst.len());
        let bad = |reason| CodecError::Malformed { codec: LZO, size, reason };
        lzokay::decompress::decompress(src, dst).map_err(|error| match error {
            Error::OutputOverrun => CodecError::TooLong { codec: LZO, size, room },
            Error::InputOverrun => bad("ends too early"),
            Error::LookbehindOverrun => bad("a match reaches back before the block"),
            Error::InputNotConsumed => bad("bytes follow the end of the stream"),
            Error::Error => bad("not a stream of this format"),
        })
    }
}
