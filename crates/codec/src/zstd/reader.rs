//! The zstd decoders. A complete frame is decoded in one pass into the buffer of the block, however large the frame's window is.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use zstd_sys as sys;

use super::NAME;
use super::context::{check as check_code, is_error};
use crate::spec::METADATA_BLOCK_SIZE;
use crate::traits::check_filled;
use crate::{BlockPart, CodecError, Decoder};

pub(crate) fn decoder_memory() -> usize {
    // SAFETY: no precondition.
    unsafe { sys::ZSTD_estimateDCtxSize() }
}

pub(crate) struct ZstdDecoder {
    raw: NonNull<sys::ZSTD_DCtx>,
    _memory: Box<[MaybeUninit<u64>]>, // words, because the library requires alignment to 8 bytes
}

// SAFETY: the context is memory owned by this value alone, whose heap address does not change when the value moves; the library keeps no
// thread-local state.
unsafe impl Send for ZstdDecoder {}

impl ZstdDecoder {
    pub(crate) fn new() -> Result<Self, CodecError> {
        ZstdDecoder::with_memory(decoder_memory())
    }

    fn with_memory(bytes: usize) -> Result<Self, CodecError> {
        // Zeros would touch all pages, of which small blocks need few.
        let mut memory = Box::new_uninit_slice(bytes.div_ceil(size_of::<u64>()));
        // SAFETY: the memory is valid for the size given, and aligned to 8 bytes; the library writes what it reads, as in memory of malloc.
        let raw = unsafe { sys::ZSTD_initStaticDCtx(memory.as_mut_ptr().cast(), size_of_val(&*memory)) };
        let failed = CodecError::Library { codec: NAME, function: "ZSTD_initStaticDCtx", code: 0 };
        Ok(ZstdDecoder { raw: NonNull::new(raw).ok_or(failed)?, _memory: memory })
    }
}

/// Checks that `src` is one frame.
fn check(src: &[u8]) -> Result<(), CodecError> {
    if header(src)?.dictID != 0 {
        return Err(bad(src, "needs a dictionary"));
    }
    // SAFETY: the pointer is valid for the length given.
    let size = unsafe { sys::ZSTD_findFrameCompressedSize(src.as_ptr().cast(), src.len()) };
    match size {
        size if is_error(size) => Err(bad(src, "ends too early, or is damaged")),
        size if size < src.len() => Err(bad(src, "bytes follow the end of the frame")),
        _ => Ok(()),
    }
}

/// Checks that the window of a frame is not larger than a block or a metadata block. Linux has no memory for more.
pub(crate) fn check_window(block_size: usize, src: &[u8]) -> Result<(), CodecError> {
    limit_window(src, block_size.next_power_of_two().max(METADATA_BLOCK_SIZE) as u64)
}

fn limit_window(src: &[u8], limit: u64) -> Result<(), CodecError> {
    let needed = header(src)?.windowSize;
    if needed > limit { Err(CodecError::Memory { codec: NAME, needed, limit }) } else { Ok(()) }
}

fn bad(src: &[u8], reason: &'static str) -> CodecError {
    CodecError::Malformed { codec: NAME, size: src.len(), reason }
}

/// Returns the header of the frame that `src` starts with, which must be a frame with data.
fn header(src: &[u8]) -> Result<sys::ZSTD_FrameHeader, CodecError> {
    let unknown = || bad(src, "not a zstd frame");
    if src.get(..4) != Some(&sys::ZSTD_MAGICNUMBER.to_le_bytes()) {
        return Err(unknown());
    }
    let mut header = MaybeUninit::<sys::ZSTD_FrameHeader>::zeroed();
    // SAFETY: the header is valid for writing, the pointer for the length given.
    let code = unsafe { sys::ZSTD_getFrameHeader(header.as_mut_ptr(), src.as_ptr().cast(), src.len()) };
    // SAFETY: all fields are integers, or enums that have a value of zero, and the library set them.
    if code == 0 { Ok(unsafe { header.assume_init() }) } else { Err(unknown()) }
}

impl Decoder for ZstdDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        check(src)?;
        // SAFETY: the context is valid; both pointers are valid for the lengths given and do not overlap.
        let made = unsafe {
            let out = dst.as_mut_ptr().cast();
            let capacity = dst.len();
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

/// Decodes frames with windows up to a limit, or only the start of their content.
pub(crate) struct FrameDecoder {
    /// Has memory for a window, which only the start of a content needs.
    inner: ZstdDecoder,
    window: u32,
}

impl FrameDecoder {
    pub(crate) fn new(window: u32) -> Result<FrameDecoder, CodecError> {
        Ok(FrameDecoder { inner: ZstdDecoder::with_memory(FrameDecoder::memory(window))?, window })
    }

    /// Memory of a decoder of frames with windows up to `window` bytes.
    pub(crate) fn memory(window: u32) -> usize {
        // SAFETY: no precondition.
        unsafe { sys::ZSTD_estimateDStreamSize(window as usize) }
    }

    /// Fills `dst` with the content of a frame, or with the start of it.
    pub(crate) fn fill(&mut self, src: &[u8], dst: &mut [u8], part: BlockPart) -> Result<(), CodecError> {
        limit_window(src, u64::from(self.window))?;
        let made = match part {
            BlockPart::Whole => self.inner.decompress(src, dst)?,
            BlockPart::Start => self.decode_start(src, dst)?,
        };
        check_filled(NAME, src, made, dst)
    }

    /// Decodes until `dst` is full or the frame ends; returns the number of bytes written.
    fn decode_start(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        if header(src)?.dictID != 0 {
            return Err(bad(src, "needs a dictionary"));
        }
        let context = self.inner.raw.as_ptr();
        let session = sys::ZSTD_ResetDirective::ZSTD_reset_session_only;
        // SAFETY: the context is valid.
        check_code("ZSTD_DCtx_reset", unsafe { sys::ZSTD_DCtx_reset(context, session) })?;
        let mut input = sys::ZSTD_inBuffer { src: src.as_ptr().cast(), size: src.len(), pos: 0 };
        let mut output = sys::ZSTD_outBuffer { dst: dst.as_mut_ptr().cast(), size: dst.len(), pos: 0 };
        loop {
            let before = (input.pos, output.pos);
            // SAFETY: the context is valid; both buffers are valid for the lengths given and do not overlap.
            let code = unsafe { sys::ZSTD_decompressStream(context, &mut output, &mut input) };
            if is_error(code) {
                return Err(bad(src, "damaged"));
            }
            if code == 0 || output.pos == output.size {
                return Ok(output.pos);
            }
            if before == (input.pos, output.pos) {
                return Err(bad(src, "ends too early"));
            }
        }
    }
}
