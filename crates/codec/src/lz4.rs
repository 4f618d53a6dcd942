//! LZ4: raw blocks (lz4 `doc/lz4_Block_format.md`), fast or high compression.

use std::os::raw::{c_char, c_int, c_void};

use crate::parameters::{ListWriter, items};
use crate::traits::Compressor;
use crate::{CodecError, Decoder};

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
            return Err(conflict(format!("acceleration={value} with hc"), "only one of them"));
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

// Functions of the library (lz4 1.10, `lz4.h` and `lz4hc.h`) that its crate links but does not declare.
unsafe extern "C" {
    fn LZ4_sizeofState() -> c_int;
    fn LZ4_sizeofStateHC() -> c_int;
    fn LZ4_compress_fast_extState(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_size: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_compress_HC_extStateHC(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_size: c_int,
        level: c_int,
    ) -> c_int;
}

/// Both functions clear the state first. The `_fastReset` variants do not, so that after reuse their output differs for blocks below 4 KiB;
/// for larger blocks they clear it as well.
pub(crate) struct Lz4Encoder {
    state: Vec<u64>, // words, because the library requires alignment to 8 bytes
    hc: bool,
    effort: c_int,
}

impl Lz4Encoder {
    pub(crate) fn new(params: &Lz4Params) -> Self {
        let effort = if params.hc { params.level } else { params.acceleration };
        let words = state_size(params.hc).div_ceil(size_of::<u64>());
        Lz4Encoder { state: vec![0; words], hc: params.hc, effort: effort as c_int }
    }
}

pub(crate) fn state_size(hc: bool) -> usize {
    // SAFETY: both functions return a constant.
    let size = unsafe { if hc { LZ4_sizeofStateHC() } else { LZ4_sizeofState() } };
    usize::try_from(size).unwrap_or(0)
}

impl Compressor for Lz4Encoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let function = if self.hc { LZ4_compress_HC_extStateHC } else { LZ4_compress_fast_extState };
        // SAFETY: the state has the required size and alignment; source and destination are valid for the lengths given (blocks are at most
        // 2^30 bytes) and do not overlap.
        let size = unsafe {
            function(
                self.state.as_mut_ptr().cast(),
                src.as_ptr().cast(),
                out.as_mut_ptr().cast(),
                src.len() as c_int,
                out.len() as c_int,
                self.effort,
            )
        };
        Ok(usize::try_from(size).ok().filter(|size| *size > 0))
    }
}

pub(crate) struct Lz4Decoder;

impl Decoder for Lz4Decoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let bad = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
        let size = c_int::try_from(src.len()).map_err(|_| bad("longer than 2^31 bytes"))?;
        let capacity = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
        // SAFETY: source and destination are valid for the lengths given and do not overlap; the function checks all accesses against them.
        let made =
            unsafe { lz4_sys::LZ4_decompress_safe(src.as_ptr().cast(), dst.as_mut_ptr().cast(), size, capacity) };
        usize::try_from(made).map_err(|_| bad("an incomplete block, or more content than expected"))
    }
}
