//! DEFLATE by zlib, for the windows and strategies that libdeflate lacks.

use std::mem::{MaybeUninit, size_of};
use std::os::raw::c_int;
use std::ptr::NonNull;

use libz_sys as sys;

use super::{NAME, Strategy};
use crate::CodecError;
use crate::traits::Compressor;

/// zlib's `DEF_MEM_LEVEL`, which other packers use.
const MEMORY_LEVEL: c_int = 8;

/// A stream, kept and reset before each block.
pub(crate) struct Zlib {
    // A pointer instead of a box: zlib's state points back at the stream, so no Rust reference may claim exclusive access.
    stream: NonNull<sys::z_stream>,
    level: c_int,
    strategy: Strategy,
}

// SAFETY: the stream and all it points to is owned by this value alone; zlib keeps no thread-local state.
unsafe impl Send for Zlib {}

impl Zlib {
    /// A stream for a level (1 to 9) and a window (binary logarithm, 8 to 15).
    pub(crate) fn new(level: u32, window: u32) -> Result<Self, CodecError> {
        // zlib requires zeros before initialisation: no state, and a null allocator, which zlib replaces by its own.
        let mut memory = Box::new(MaybeUninit::<sys::z_stream>::zeroed());
        let level = level as c_int;
        let window = window as c_int;
        // SAFETY: the pointer is valid and points to zeros; the size and version are those of the linked library.
        let code = unsafe {
            sys::deflateInit2_(
                memory.as_mut_ptr(),
                level,
                sys::Z_DEFLATED,
                window,
                MEMORY_LEVEL,
                sys::Z_DEFAULT_STRATEGY,
                sys::zlibVersion(),
                size_of::<sys::z_stream>() as c_int,
            )
        };
        match code {
            sys::Z_OK => {
                let stream = NonNull::from(Box::leak(memory)).cast();
                Ok(Zlib { stream, level, strategy: Strategy::Default })
            }
            sys::Z_MEM_ERROR => Err(CodecError::OutOfMemory { codec: NAME }),
            code => Err(failed("deflateInit2", code)),
        }
    }

    /// Sets the strategy for the next blocks.
    pub(crate) fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    fn restart(&mut self) -> Result<(), CodecError> {
        // SAFETY: the stream was initialised by `deflateInit2_`.
        let code = unsafe { sys::deflateReset(self.stream.as_ptr()) };
        if code != sys::Z_OK {
            return Err(failed("deflateReset", code));
        }
        // SAFETY: as above. Immediately after a reset this flushes nothing.
        let code = unsafe { sys::deflateParams(self.stream.as_ptr(), self.level, number(self.strategy)) };
        if code != sys::Z_OK {
            return Err(failed("deflateParams", code));
        }
        Ok(())
    }
}

impl Compressor for Zlib {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.restart()?;
        // SAFETY: the stream is initialised and nothing else refers to it; input and output are valid for the lengths
        // given (blocks are at most 2^30 bytes) during the call, and zlib only reads its input.
        let (code, left) = unsafe {
            let stream = self.stream.as_ptr();
            (*stream).next_in = src.as_ptr().cast_mut();
            (*stream).avail_in = src.len() as u32;
            (*stream).next_out = out.as_mut_ptr();
            (*stream).avail_out = out.len() as u32;
            (sys::deflate(stream, sys::Z_FINISH), (*stream).avail_out as usize)
        };
        match code {
            sys::Z_STREAM_END => Ok(Some(out.len() - left)),
            sys::Z_OK | sys::Z_BUF_ERROR => Ok(None),
            code => Err(failed("deflate", code)),
        }
    }
}

impl Drop for Zlib {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised by `deflateInit2_` and is ended once; its memory came from a box of this
        // size and alignment.
        unsafe {
            sys::deflateEnd(self.stream.as_ptr());
            drop(Box::from_raw(self.stream.as_ptr().cast::<MaybeUninit<sys::z_stream>>()));
        }
    }
}

fn number(strategy: Strategy) -> c_int {
    match strategy {
        Strategy::Default => sys::Z_DEFAULT_STRATEGY,
        Strategy::Filtered => sys::Z_FILTERED,
        Strategy::Huffman => sys::Z_HUFFMAN_ONLY,
        Strategy::Rle => sys::Z_RLE,
        Strategy::Fixed => sys::Z_FIXED,
    }
}

fn failed(function: &'static str, code: c_int) -> CodecError {
    CodecError::Library { codec: NAME, function, code: i64::from(code) }
}
