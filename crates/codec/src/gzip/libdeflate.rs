//! DEFLATE by libdeflate: one call per block, with a reused context.

use std::os::raw::{c_int, c_void};
use std::ptr::NonNull;

use libdeflate_sys as sys;

use super::{DEFLATE, NAME};
use crate::traits::Compressor;
use crate::{CodecError, Decoder};

/// Each call starts with cleared tables.
pub(crate) struct Deflater {
    context: NonNull<sys::libdeflate_compressor>,
}

// SAFETY: the context is owned by this value alone and libdeflate keeps no thread-local state.
unsafe impl Send for Deflater {}

impl Deflater {
    /// A context for a level of 1 to 12.
    pub(crate) fn new(level: u32) -> Result<Self, CodecError> {
        // SAFETY: any level is accepted; a level out of range gives null.
        let raw = unsafe { sys::libdeflate_alloc_compressor(level as c_int) };
        let context = NonNull::new(raw).ok_or(CodecError::OutOfMemory { codec: NAME })?;
        Ok(Deflater { context })
    }

    /// Memory of a context, bytes (libdeflate 1.26: hash chains up to level 9, binary trees and the parser's cost table above).
    pub(crate) fn memory(level: u32) -> usize {
        match level {
            1 => 300 << 10,
            2..=9 => 1 << 20,
            _ => 10 << 20,
        }
    }

    /// Compresses `src` to a gzip member (RFC 1952) without name or time. `None` if the member does not fit into `out`.
    pub(crate) fn gzip(&mut self, src: &[u8], out: &mut [u8]) -> Option<usize> {
        // SAFETY: as in `try_compress`.
        let size = unsafe {
            let space = out.len();
            let out = out.as_mut_ptr().cast();
            sys::libdeflate_gzip_compress(self.context.as_ptr(), src.as_ptr().cast(), src.len(), out, space)
        };
        (size != 0).then_some(size)
    }
}

/// Upper bound of the size of a gzip member of `size` bytes.
pub(crate) fn gzip_bound(size: usize) -> usize {
    // SAFETY: the function accepts null for the compressor; the bound then holds for all levels.
    unsafe { sys::libdeflate_gzip_compress_bound(std::ptr::null_mut(), size) }
}

/// The checksum of a zlib stream (RFC 1950).
pub(super) fn adler32(src: &[u8]) -> u32 {
    // SAFETY: the pointer is valid for the length given.
    unsafe { sys::libdeflate_adler32(1, src.as_ptr().cast(), src.len()) }
}

impl Compressor for Deflater {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        // SAFETY: the context lives; both pointers are valid for the lengths given and do not overlap.
        let size = unsafe {
            let space = out.len();
            let out = out.as_mut_ptr().cast();
            sys::libdeflate_zlib_compress(self.context.as_ptr(), src.as_ptr().cast(), src.len(), out, space)
        };
        Ok((size != 0).then_some(size))
    }
}

impl Drop for Deflater {
    fn drop(&mut self) {
        // SAFETY: allocated by libdeflate, freed once.
        unsafe { sys::libdeflate_free_compressor(self.context.as_ptr()) }
    }
}

/// A function of the library that decompresses one block: context, input, output, bytes read, bytes written.
type Decompress = unsafe extern "C" fn(
    *mut sys::libdeflate_decompressor,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *mut usize,
    *mut usize,
) -> sys::libdeflate_result;

/// Decompresses zlib streams of any encoder.
pub(crate) struct Inflater {
    context: NonNull<sys::libdeflate_decompressor>,
}

// SAFETY: as for `Deflater`.
unsafe impl Send for Inflater {}

impl Inflater {
    pub(crate) fn new() -> Result<Self, CodecError> {
        // SAFETY: no precondition; null when memory is short.
        let raw = unsafe { sys::libdeflate_alloc_decompressor() };
        let context = NonNull::new(raw).ok_or(CodecError::OutOfMemory { codec: NAME })?;
        Ok(Inflater { context })
    }

    /// Returns the library's code, the bytes read and the bytes written.
    fn inflate(&mut self, src: &[u8], dst: &mut [u8]) -> (sys::libdeflate_result, usize, usize) {
        self.run(sys::libdeflate_zlib_decompress_ex, src, dst)
    }

    fn run(&mut self, decompress: Decompress, src: &[u8], dst: &mut [u8]) -> (sys::libdeflate_result, usize, usize) {
        let mut taken = 0;
        let mut made = 0;
        // SAFETY: the function is one of the library's; the context lives; both buffers are valid for the lengths given and do not
        // overlap; the two counters are valid for writing.
        let code = unsafe {
            decompress(
                self.context.as_ptr(),
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &mut taken,
                &mut made,
            )
        };
        (code, taken, made)
    }

    /// Decodes raw DEFLATE; returns the number of bytes written.
    pub(super) fn inflate_bare(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let (code, taken, made) = self.run(sys::libdeflate_deflate_decompress_ex, src, dst);
        let size = src.len();
        let bad = |reason| Err(CodecError::Malformed { codec: DEFLATE, size, reason });
        match code {
            sys::libdeflate_result_LIBDEFLATE_SUCCESS if taken == size => Ok(made),
            sys::libdeflate_result_LIBDEFLATE_SUCCESS => bad("bytes follow the end of the block"),
            sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => {
                Err(CodecError::TooLong { codec: DEFLATE, size, capacity: dst.len() })
            }
            _ => bad("damaged, or ends too early"),
        }
    }
}

impl Decoder for Inflater {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let size = src.len();
        let capacity = dst.len();
        let bad = |reason| Err(CodecError::Malformed { codec: NAME, size, reason });
        match self.inflate(src, dst) {
            (sys::libdeflate_result_LIBDEFLATE_SUCCESS, taken, made) if taken == size => Ok(made),
            (sys::libdeflate_result_LIBDEFLATE_SUCCESS, ..) => bad("bytes follow the end of the stream"),
            (sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE, ..) => {
                Err(CodecError::TooLong { codec: NAME, size, capacity })
            }
            _ => bad("an incomplete zlib stream, or its checksum is wrong"),
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: allocated by libdeflate, freed once.
        unsafe { sys::libdeflate_free_decompressor(self.context.as_ptr()) }
    }
}
