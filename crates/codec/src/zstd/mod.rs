//! zstd: one frame per block (RFC 8878), with its content size, without checksum or dictionary.

#[allow(unsafe_code)] // calls a C library
mod context;
mod cut;
mod encoder;
#[allow(unsafe_code)] // calls a C library
mod reader;
pub(crate) mod sequences;
#[cfg(any(test, target_endian = "big"))]
#[allow(unsafe_code)] // replaces a function of a C library
mod split;

use crate::CodecError;
use crate::parameters::{ListWriter, items};

pub(crate) use context::bound;
pub(crate) use cut::ZstdCutter;
pub(crate) use encoder::{encoder, encoder_memory};
pub(crate) use reader::{FrameDecoder, ZstdDecoder, check_window, decoder_memory};

pub(crate) const NAME: &str = "zstd";

pub(crate) const HELP: &str = "\
zstd: one frame per block
  level=1..22        effort (default 15); also compression-level=
  level=-131072..-1  faster than 1, and larger
  level=max          smallest, in up to twice the time of 22; same as 22 for blocks over 1M
";

const KNOWN: &str = "level";
const EXPECTED: &str = "a whole number from -131072 to -1 or from 1 to 22, or max";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZstdParams {
    /// Effort: -131072 to -1 (higher is slower), 1 to 22, or [`MAX`](ZstdParams::MAX). Default 15.
    pub level: i32,
}

impl ZstdParams {
    pub const DEFAULT_LEVEL: i32 = 15;
    /// The fastest level.
    pub const MIN_LEVEL: i32 = -131_072;
    /// The library's level that compresses best.
    pub const MAX_LEVEL: i32 = 22;
    /// The level above [`ZstdParams::MAX_LEVEL`], written `level=max`: the smallest output, whatever it costs. Containers that store the
    /// level store [`ZstdParams::MAX_LEVEL`].
    pub const MAX: i32 = Self::MAX_LEVEL + 1;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = ZstdParams::default();
        for item in items(NAME, list) {
            match item.key {
                "level" | "compression-level" if item.text(EXPECTED)? == "max" => params.level = Self::MAX,
                "level" | "compression-level" => {
                    params.level = item.number_of(Self::MIN_LEVEL..=Self::MAX_LEVEL, EXPECTED)?
                }
                _ => return Err(item.unknown(KNOWN)),
            }
        }
        params.check()?;
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = ListWriter::default();
        match self.level {
            Self::MAX => printed.value("level", "max", ""),
            level => printed.value("level", level, Self::DEFAULT_LEVEL),
        }
        printed.list()
    }

    pub(crate) fn check(&self) -> Result<(), CodecError> {
        if self.level != 0 && (Self::MIN_LEVEL..=Self::MAX).contains(&self.level) {
            return Ok(());
        }
        Err(CodecError::Value {
            codec: NAME,
            parameter: "level".to_owned(),
            found: self.level.to_string(),
            expected: EXPECTED.to_owned(),
        })
    }
}

impl Default for ZstdParams {
    fn default() -> Self {
        ZstdParams { level: Self::DEFAULT_LEVEL }
    }
}
