//! The library's encoders and its decoder.

use std::os::raw::{c_char, c_int, c_void};

use super::{Lz4Params, NAME};
use crate::traits::{Compressor, check_filled};
use crate::{BlockPart, CodecError, Decoder};

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
    fn LZ4_decompress_safe_partial(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        wanted: c_int,
        dst_size: c_int,
    ) -> c_int;
}

/// Both functions clear the state first. The `_fastReset` variants do not, so that after reuse their output differs for blocks below 4 KiB;
/// for larger blocks they clear it as well.
pub(super) struct LibraryEncoder {
    state: Vec<u64>, // words, because the library requires alignment to 8 bytes
    hc: bool,
    effort: c_int,
}

impl LibraryEncoder {
    pub(super) fn new(params: &Lz4Params) -> Self {
        let effort = if params.hc { params.level } else { params.acceleration };
        let words = state_size(params.hc).div_ceil(size_of::<u64>());
        LibraryEncoder { state: vec![0; words], hc: params.hc, effort: effort as c_int }
    }
}

/// Memory of an encoder.
pub(super) fn state_size(hc: bool) -> usize {
    // SAFETY: both functions return a constant.
    let size = unsafe { if hc { LZ4_sizeofStateHC() } else { LZ4_sizeofState() } };
    usize::try_from(size).unwrap_or(0)
}

impl Compressor for LibraryEncoder {
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

/// Fills `dst` with the content of a block, or with the start of it.
pub(crate) fn fill(src: &[u8], dst: &mut [u8], part: BlockPart) -> Result<(), CodecError> {
    let made = match part {
        BlockPart::Whole => Lz4Decoder.decompress(src, dst)?,
        BlockPart::Start => decode_start(src, dst)?,
    };
    check_filled(NAME, src, made, dst)
}

/// Decodes until `dst` is full or the block ends; returns the number of bytes written.
fn decode_start(src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
    let bad = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
    let size = c_int::try_from(src.len()).map_err(|_| bad("longer than 2^31 bytes"))?;
    let wanted = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
    let target = dst.as_mut_ptr().cast();
    // SAFETY: source and destination are valid for the lengths given and do not overlap; the function checks all accesses against them.
    let made = unsafe { LZ4_decompress_safe_partial(src.as_ptr().cast(), target, size, wanted, wanted) };
    usize::try_from(made).map_err(|_| bad("damaged"))
}
