//! The zstd decoder: one frame, whose window fits the block size.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use zstd_sys as sys;

use super::NAME;
use super::context::is_error;
use crate::spec::METADATA_BLOCK_SIZE;
use crate::{CodecError, Decoder};

/// Memory of a decoder.
pub(crate) fn decoder_memory() -> usize {
    // SAFETY: no precondition.
    unsafe { sys::ZSTD_estimateDCtxSize() }
}

pub(crate) struct ZstdDecoder {
    raw: NonNull<sys::ZSTD_DCtx>,
    _memory: Vec<u64>, // words, because the library requires alignment to 8 bytes
    window_limit: u64,
}

// SAFETY: the context is memory owned by this value alone, whose heap address does not change when the value moves; the library keeps no
// thread-local state.
unsafe impl Send for ZstdDecoder {}

impl ZstdDecoder {
    /// A decoder of frames whose window is no larger than a block, or a metadata block.
    pub(crate) fn new(block_size: usize) -> Result<Self, CodecError> {
        let mut memory = vec![0u64; decoder_memory().div_ceil(size_of::<u64>())];
        // SAFETY: the memory is valid for the size given, and aligned to 8 bytes.
        let raw = unsafe { sys::ZSTD_initStaticDCtx(memory.as_mut_ptr().cast(), size_of_val(&*memory)) };
        let failed = CodecError::Library { codec: NAME, function: "ZSTD_initStaticDCtx", code: 0 };
        let raw = NonNull::new(raw).ok_or(failed)?;
        let window = block_size.next_power_of_two().max(METADATA_BLOCK_SIZE);
        Ok(ZstdDecoder { raw, _memory: memory, window_limit: window as u64 })
    }

    /// Checks that `src` is one frame that readers with little memory can decode.
    fn check(&self, src: &[u8]) -> Result<(), CodecError> {
        let bad = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
        let header = header(src).ok_or_else(|| bad("not a zstd frame"))?;
        if header.windowSize > self.window_limit {
            return Err(CodecError::Memory { codec: NAME, needed: header.windowSize, limit: self.window_limit });
        }
        if header.dictID != 0 {
            return Err(bad("needs a dictionary"));
        }
        // SAFETY: the pointer is valid for the length given.
        let size = unsafe { sys::ZSTD_findFrameCompressedSize(src.as_ptr().cast(), src.len()) };
        match size {
            size if is_error(size) => Err(bad("ends too early, or is damaged")),
            size if size < src.len() => Err(bad("bytes follow the end of the frame")),
            _ => Ok(()),
        }
    }
}

/// The header of the frame that `src` starts with; `None` if that is not a frame with data.
fn header(src: &[u8]) -> Option<sys::ZSTD_FrameHeader> {
    if src.get(..4) != Some(&sys::ZSTD_MAGICNUMBER.to_le_bytes()) {
        return None;
    }
    let mut header = MaybeUninit::<sys::ZSTD_FrameHeader>::zeroed();
    // SAFETY: the header is valid for writing, the pointer for the length given.
    let code = unsafe { sys::ZSTD_getFrameHeader(header.as_mut_ptr(), src.as_ptr().cast(), src.len()) };
    // SAFETY: all fields are integers or enums for which zero is a value, and the library set them.
    (code == 0).then(|| unsafe { header.assume_init() })
}

impl Decoder for ZstdDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        self.check(src)?;
        // SAFETY: the context is valid; both pointers are valid for the lengths given and do not overlap.
        let made = unsafe {
            let (out, capacity) = (dst.as_mut_ptr().cast(), dst.len());
            sys::ZSTD_decompressDCtx(self.raw.as_ptr(), out, capacity, src.as_ptr().cast(), src.len())
        };
        if !is_error(made) {
            return Ok(made);
        }
        // SAFETY: no precondition.
        let code = unsafe { sys::ZSTD_getErrorCode(made) };
        Err(match code {
            sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall => {
                CodecError::TooLong { codec: NAME, size: src.len(), capacity: dst.len() }
            }
            _ => CodecError::Malformed { codec: NAME, size: src.len(), reason: "damaged" },
        })
    }
}
