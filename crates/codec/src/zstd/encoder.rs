//! The zstd encoder: of our own, or the library's, by level and block size.

use super::ZstdParams;
use super::library::LibraryEncoder;
use super::optimal::{Effort, Optimal};
use super::search::size_log;
use crate::CodecError;
use crate::bounded::Compressor;

/// An encoder for blocks of up to `block_size` bytes; `checksum`: whether frames end with a checksum of their content.
pub(crate) fn encoder(
    params: &ZstdParams,
    block_size: usize,
    checksum: bool,
) -> Result<Box<dyn Compressor>, CodecError> {
    Ok(match Effort::new(params.level, size_log(block_size)) {
        Some(effort) => Box::new(Optimal::new(effort, block_size, checksum)?),
        None => Box::new(LibraryEncoder::new(params.level, block_size, checksum)?),
    })
}

/// Memory of an encoder for blocks of up to `block_size` bytes.
pub(crate) fn encoder_memory(params: &ZstdParams, block_size: usize) -> usize {
    match Effort::new(params.level, size_log(block_size)) {
        Some(effort) => Optimal::memory(&effort, block_size),
        None => LibraryEncoder::memory(params.level, block_size),
    }
}
