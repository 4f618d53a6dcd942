//! LZ4: raw blocks (lz4 `doc/lz4_Block_format.md`), fast or high compression.

mod cut;
#[allow(unsafe_code)] // calls a C library
mod library;
mod optimal;
mod portable;
#[cfg(test)]
mod tests;
mod writer;

use crate::CodecError;
use crate::parameters::{ListWriter, items};
use crate::traits::Compressor;
pub(crate) use cut::Lz4Cutter;
use library::LibraryEncoder;
pub(crate) use library::{Lz4Decoder, fill};
use optimal::Optimal;

pub(crate) const NAME: &str = "lz4";
/// Alias of lz4 with `hc`.
pub(crate) const HC_NAME: &str = "lz4hc";

pub(crate) const HELP: &str = "\
lz4: raw blocks
  hc                 compress slower and better; reading is as fast
  level=1..12        effort of hc (default 12); also compression-level=
  acceleration=1..65537  without hc: faster and larger (default 1)
";

pub(crate) const HC_HELP: &str = "\
lz4hc: raw LZ4 blocks, compressed slower and better; the same as lz4:hc
  level=1..12        effort (default 12); also compression-level=
";

/// Lowest level of `hc` that uses our own encoder. Its blocks are smaller than those of the library's level 11, in less time.
const OWN_LEVEL: u32 = 11;

/// Whether the library encodes. Its blocks depend on the order of bytes and on the width of words, so it is used only on little-endian
/// processors with 64 bits. [`portable`] writes the same blocks on the others.
const LIBRARY_IS_USED: bool = cfg!(all(target_endian = "little", target_pointer_width = "64"));

const KNOWN: &str = "hc, level, acceleration";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lz4Params {
    /// Whether to compress slower and better; the decoder is the same.
    pub hc: bool,
    /// Effort of `hc`, 1 to 12. Default 12. Ignored without `hc`.
    pub level: u32,
    /// Speed without `hc`, 1 to 65537; larger values are faster and compress less. Default 1. Ignored with `hc`.
    pub acceleration: u32,
}

impl Lz4Params {
    /// Largest level, and the default.
    pub const MAX_LEVEL: u32 = 12;
    /// Largest acceleration; the library clamps larger values to it.
    pub const MAX_ACCELERATION: u32 = 65537;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = Lz4Params::default();
        let mut level = None;
        let mut acceleration = None;
        for item in items(NAME, list) {
            match item.key {
                "hc" => {
                    item.flag()?;
                    params.hc = true;
                }
                "level" | "compression-level" => level = Some(item.number(1..=Self::MAX_LEVEL)?),
                "acceleration" => acceleration = Some(item.number(1..=Self::MAX_ACCELERATION)?),
                _ => return Err(item.unknown(KNOWN)),
            }
        }
        if let (Some(level), false) = (level, params.hc) {
            return Err(conflict(format!("level={level} without hc"), "hc,level=...: only hc has levels"));
        }
        if let (Some(value), true) = (acceleration, params.hc) {
            return Err(conflict(format!("acceleration={value} cannot be used with hc"), ""));
        }
        params.level = level.unwrap_or(params.level);
        params.acceleration = acceleration.unwrap_or(params.acceleration);
        Ok(params)
    }

    /// Parses the parameters of `lz4hc`, which is lz4 with `hc`.
    pub(crate) fn parse_hc(list: &str) -> Result<Self, CodecError> {
        let mut params = Lz4Params { hc: true, ..Lz4Params::default() };
        for item in items(HC_NAME, list) {
            match item.key {
                "level" | "compression-level" => params.level = item.number(1..=Self::MAX_LEVEL)?,
                _ => return Err(item.unknown("level")),
            }
        }
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = ListWriter::default();
        printed.flag("hc", self.hc);
        if self.hc {
            printed.value("level", self.level, Self::MAX_LEVEL);
        } else {
            printed.value("acceleration", self.acceleration, 1);
        }
        printed.list()
    }

    /// Whether our own encoder is used.
    pub(crate) fn is_own(&self) -> bool {
        self.hc && self.level >= OWN_LEVEL
    }

    pub(crate) fn check(&self) -> Result<(), CodecError> {
        if !(1..=Self::MAX_LEVEL).contains(&self.level) {
            return Err(conflict(format!("level={}", self.level), "1 to 12"));
        }
        if !(1..=Self::MAX_ACCELERATION).contains(&self.acceleration) {
            return Err(conflict(format!("acceleration={}", self.acceleration), "1 to 65537"));
        }
        Ok(())
    }
}

impl Default for Lz4Params {
    fn default() -> Self {
        Lz4Params { hc: false, level: Self::MAX_LEVEL, acceleration: 1 }
    }
}

fn conflict(found: String, expected: &str) -> CodecError {
    CodecError::Conflict { codec: NAME, found, expected: expected.to_owned() }
}

/// An encoder. From level [`OWN_LEVEL`] on, `hc` is our own encoder.
pub(crate) fn encoder(params: &Lz4Params) -> Box<dyn Compressor> {
    if params.is_own() {
        Box::new(Optimal::default())
    } else if LIBRARY_IS_USED {
        Box::new(LibraryEncoder::new(params))
    } else {
        portable::encoder(params)
    }
}

/// Memory of an encoder for blocks of up to `block_size` bytes.
pub(crate) fn encoder_memory(params: &Lz4Params, block_size: usize) -> usize {
    if params.is_own() {
        Optimal::memory(block_size)
    } else if LIBRARY_IS_USED {
        library::state_size(params.hc)
    } else {
        portable::memory(params)
    }
}
