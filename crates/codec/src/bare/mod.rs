//! Blocks without a header of their own: the container stores their codec, their length and their parameters. A decoder also decodes only the
//! first bytes of a block. The encoders are in `spec.rs`.

mod spec;

use crate::gzip::BareInflater;
use crate::lzma::MicroDecoder;
use crate::zstd::FrameDecoder;
use crate::{BlockPart, CodecError, gzip, lz4, lzma, zstd};

/// Allowance in bytes for allocator overhead and small structures of an encoder or decoder.
pub(crate) const OVERHEAD: usize = 4 * 1024;

/// The codec of a block, with the parameters that bound the memory of its decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BareCodec {
    /// A raw LZ4 block.
    Lz4,
    /// LZMA whose first byte, which is always zero, is replaced by the complement of the contexts; without an end mark.
    MicroLzma {
        /// Size of the dictionary in bytes.
        dict_size: u32,
    },
    /// Raw DEFLATE (RFC 1951).
    Deflate,
    /// One frame without a dictionary.
    Zstd {
        /// Size of the largest window in bytes.
        window: u32,
    },
}

impl BareCodec {
    pub fn name(self) -> &'static str {
        match self {
            BareCodec::Lz4 => lz4::NAME,
            BareCodec::MicroLzma { .. } => lzma::NAME,
            BareCodec::Deflate => gzip::DEFLATE,
            BareCodec::Zstd { .. } => zstd::NAME,
        }
    }

    /// Upper bound of the memory of a decoder in bytes.
    pub fn memory(self) -> usize {
        let state = match self {
            BareCodec::Lz4 => 0,
            BareCodec::MicroLzma { dict_size } => MicroDecoder::memory(dict_size),
            BareCodec::Deflate => BareInflater::MEMORY,
            BareCodec::Zstd { window } => FrameDecoder::memory(window),
        };
        OVERHEAD + state
    }

    /// A decoder, for use by one thread.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn decoder(self) -> Result<BareDecoder, CodecError> {
        Ok(BareDecoder(match self {
            BareCodec::Lz4 => Inner::Lz4,
            BareCodec::MicroLzma { dict_size } => Inner::MicroLzma(MicroDecoder::new(dict_size)),
            BareCodec::Deflate => Inner::Deflate(BareInflater::new()?),
            BareCodec::Zstd { window } => Inner::Zstd(FrameDecoder::new(window)?),
        }))
    }
}

/// Decodes independent blocks of one codec.
pub struct BareDecoder(Inner);

enum Inner {
    Lz4,
    MicroLzma(MicroDecoder),
    Deflate(BareInflater),
    Zstd(FrameDecoder),
}

impl std::fmt::Debug for BareDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BareDecoder").finish_non_exhaustive()
    }
}

impl BareDecoder {
    /// Fills `dst` with the content of `src`.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] or [`CodecError::TooLong`] if the block is damaged or has another length; [`CodecError::Memory`] if its window
    /// is larger than allowed; lack of memory.
    pub fn fill(&mut self, src: &[u8], dst: &mut [u8], part: BlockPart) -> Result<(), CodecError> {
        match &mut self.0 {
            Inner::Lz4 => lz4::fill(src, dst, part),
            Inner::MicroLzma(decoder) => decoder.fill(src, dst, part),
            Inner::Deflate(decoder) => decoder.fill(src, dst, part),
            Inner::Zstd(decoder) => decoder.fill(src, dst, part),
        }
    }
}

#[cfg(test)]
mod tests;
