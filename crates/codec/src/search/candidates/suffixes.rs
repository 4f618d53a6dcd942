//! The suffixes of a block in sorted order, by libsais.

use libsais_sys::libsais as sys;

use super::NAME;
use crate::CodecError;

/// Upper bound of the bytes that the library allocates while it sorts, in addition to two for each byte of the block.
const LIBRARY: usize = 128 << 10;

/// The sorted suffixes of a block.
#[derive(Default)]
pub(super) struct Suffixes {
    /// The position of each suffix, in sorted order.
    pub(super) sorted: Vec<i32>,
    /// By position: the number of bytes that the suffix has in common with the previous one in sorted order. Free for other use after it
    /// was read.
    pub(super) common: Vec<i32>,
}

impl Suffixes {
    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        LIBRARY + 2 * size + 2 * size * size_of::<i32>()
    }

    /// Sorts the suffixes of a block of less than 2^31 bytes.
    pub(super) fn sort(&mut self, src: &[u8]) -> Result<(), CodecError> {
        self.sorted.resize(src.len(), 0);
        self.common.resize(src.len(), 0);
        let size = src.len() as i32;
        // SAFETY: the array has as many elements as the block has bytes, and no spare elements. A null pointer asks for no frequencies.
        let code = unsafe { sys::libsais(src.as_ptr(), self.sorted.as_mut_ptr(), size, 0, std::ptr::null_mut()) };
        check("libsais", code)?;
        // SAFETY: both arrays have as many elements as the block has bytes, and the suffixes have been sorted.
        let code = unsafe { sys::libsais_plcp(src.as_ptr(), self.sorted.as_ptr(), self.common.as_mut_ptr(), size) };
        check("libsais_plcp", code)
    }
}

fn check(function: &'static str, code: i32) -> Result<(), CodecError> {
    match code {
        0 => Ok(()),
        -2 => Err(CodecError::OutOfMemory { codec: NAME }),
        code => Err(CodecError::Library { codec: NAME, function, code: code.into() }),
    }
}
