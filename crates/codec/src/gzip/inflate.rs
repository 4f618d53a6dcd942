//! zlib's decoder, for the start of a block, which libdeflate does not decode alone.

use std::mem::{MaybeUninit, size_of};
use std::os::raw::c_int;
use std::ptr::NonNull;

use libz_sys as sys;

use super::DEFLATE;
use crate::CodecError;

/// Binary logarithm of the largest window of DEFLATE, negative: zlib's notation for data without a wrapper.
const BARE_WINDOW: c_int = -15;

/// A stream, kept and reset before each block.
pub(super) struct StartInflater {
    // A pointer instead of a box: zlib's state points back at the stream, so no Rust reference may claim exclusive access.
    stream: NonNull<sys::z_stream>,
}

// SAFETY: the stream and all it points to is owned by this value alone; zlib keeps no thread-local state.
unsafe impl Send for StartInflater {}

impl StartInflater {
    /// Memory of a decoder in bytes: zlib's state and window (zlib.h, "Compression memory").
    pub(super) const MEMORY: usize = 44 << 10;

    pub(super) fn new() -> Result<Self, CodecError> {
        // zlib requires zeros before initialisation: no input, and a null allocator, which zlib replaces by its own.
        let mut memory = Box::new(MaybeUninit::<sys::z_stream>::zeroed());
        let size = size_of::<sys::z_stream>() as c_int;
        // SAFETY: the pointer is valid and points to zeros; the size and version are those of the linked library.
        let code = unsafe { sys::inflateInit2_(memory.as_mut_ptr(), BARE_WINDOW, sys::zlibVersion(), size) };
        match code {
            sys::Z_OK => Ok(StartInflater { stream: NonNull::from(Box::leak(memory)).cast() }),
            sys::Z_MEM_ERROR => Err(CodecError::OutOfMemory { codec: DEFLATE }),
            code => Err(failed("inflateInit2", code)),
        }
    }

    /// Decodes until `dst` is full or the block ends; returns the number of bytes written.
    pub(super) fn inflate(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let bad = |reason| CodecError::Malformed { codec: DEFLATE, size: src.len(), reason };
        let given = u32::try_from(src.len()).map_err(|_| bad("longer than 2^32 bytes"))?;
        let space = u32::try_from(dst.len()).unwrap_or(u32::MAX);
        // SAFETY: the stream was initialised by `inflateInit2_`.
        let code = unsafe { sys::inflateReset(self.stream.as_ptr()) };
        if code != sys::Z_OK {
            return Err(failed("inflateReset", code));
        }
        // SAFETY: the stream is initialised and nothing else refers to it; input and output are valid for the lengths given during the call,
        // and zlib only reads its input.
        let (code, left) = unsafe {
            let stream = self.stream.as_ptr();
            (*stream).next_in = src.as_ptr().cast_mut();
            (*stream).avail_in = given;
            (*stream).next_out = dst.as_mut_ptr();
            (*stream).avail_out = space;
            (sys::inflate(stream, sys::Z_SYNC_FLUSH), (*stream).avail_out)
        };
        match code {
            // What follows the wanted bytes is not checked.
            _ if left == 0 => Ok(space as usize),
            sys::Z_STREAM_END => Ok((space - left) as usize),
            sys::Z_OK | sys::Z_BUF_ERROR => Err(bad("ends too early")),
            sys::Z_MEM_ERROR => Err(CodecError::OutOfMemory { codec: DEFLATE }),
            _ => Err(bad("damaged")),
        }
    }
}

impl Drop for StartInflater {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised by `inflateInit2_` and is ended once; its memory came from a box of this size and alignment.
        unsafe {
            sys::inflateEnd(self.stream.as_ptr());
            drop(Box::from_raw(self.stream.as_ptr().cast::<MaybeUninit<sys::z_stream>>()));
        }
    }
}

fn failed(function: &'static str, code: c_int) -> CodecError {
    CodecError::Library { codec: DEFLATE, function, code: i64::from(code) }
}
