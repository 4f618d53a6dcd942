//! Raw LZ4 blocks by the C library, with its working memory kept between blocks.

use std::os::raw::{c_char, c_int, c_void};

use super::Lz4Params;
use crate::bounded::Press;
use crate::names::LZ4;
use crate::{CodecError, Decoder};

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

/// Compresses raw blocks. Both functions clear the state first: the variants that do not (`_fastReset`) give other
/// bytes for blocks below 4 KiB when the state has been used, and clear it as well for larger ones.
pub(crate) struct Lz4Encoder {
    state: Vec<u64>, // of words, since the library wants its state aligned to 8 bytes
    hc: bool,
    effort: c_int,
}

impl Lz4Encoder {
    /// An encoder.
    pub(crate) fn new(params: &Lz4Params) -> Self {
        let effort = if params.hc { params.level } else { params.acceleration };
        let words = state_size(params.hc).div_ceil(size_of::<u64>());
        Lz4Encoder { state: vec![0; words], hc: params.hc, effort: effort as c_int }
    }
}

/// Bytes of working memory.
pub(crate) fn state_size(hc: bool) -> usize {
    // SAFETY: both functions return a constant.
    let size = unsafe { if hc { LZ4_sizeofStateHC() } else { LZ4_sizeofState() } };
    usize::try_from(size).unwrap_or(0)
}

impl Press for Lz4Encoder {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let function = if self.hc { LZ4_compress_HC_extStateHC } else { LZ4_compress_fast_extState };
        // SAFETY: the state has the size and alignment that the library asks for; source and destination are valid for
        // the lengths given (blocks are at most 2^30 bytes) and do not overlap.
        let size = unsafe {
            function(
                self.state.as_mut_ptr().cast(),
                src.as_ptr().cast(),
                room.as_mut_ptr().cast(),
                src.len() as c_int,
                room.len() as c_int,
                self.effort,
            )
        };
        Ok(usize::try_from(size).ok().filter(|size| *size > 0))
    }
}

/// Decompresses raw blocks.
pub(crate) struct Lz4Decoder;

impl Decoder for Lz4Decoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let bad = |reason| CodecError::Malformed { codec: LZ4, size: src.len(), reason };
        let size = c_int::try_from(src.len()).map_err(|_| bad("longer than 2^31 bytes"))?;
        let room = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
        // SAFETY: source and destination are valid for the lengths given and do not overlap; the function checks all
        // it reads and writes against them.
        let made = unsafe { lz4_sys::LZ4_decompress_safe(src.as_ptr().cast(), dst.as_mut_ptr().cast(), size, room) };
        usize::try_from(made).map_err(|_| bad("not a whole block, or more than there is room for"))
    }
}
