//! Huff0, the entropy coder of Collet's Finite State Entropy and of Zstandard's literals (RFC 8878, 4.2), bit for bit.

mod bits;
mod block;
mod decode;
mod distribution;
mod encode;
mod fast;
mod frame;
mod fse;
mod histogram;
mod kernel;
mod lengths;
mod table;
#[cfg(test)]
mod tests;
mod weights;

use crate::bounded::Press;
use crate::{CodecError, Decoder, Encoder, Outcome};
use kernel::Kernel;
use table::Tables;

/// The codec's name.
const HUFF0: &str = "huff0";
/// Bits of the longest code that is read.
const MAX_BITS: u32 = 12;
/// Bits of the longest code that is written, as by others.
const USED_BITS: u32 = 11;
/// Bytes of the largest block.
const MAX_BLOCK: usize = 128 << 10;

/// What came of compressing a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Huff0Block {
    /// The first so many bytes of the destination are the block, fewer than the source's.
    Compressed(usize),
    /// All bytes are this one; the destination is as it was.
    SingleSymbol(u8),
    /// The block does not get smaller, or not small enough for the destination, whose content is unspecified.
    NotCompressible,
}

/// In how many streams a block is. The block does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Huff0Streams {
    /// One: a few bytes smaller.
    One,
    /// Four, and a table that says where they begin: decoded in step, several times as fast. For 12 bytes or more.
    Four,
}

/// Compresses with Huff0: blocks as they are ([`Huff0Encoder::compress_block`]), or, as an [`Encoder`], anything up to 4 GiB in
/// blocks that say what they are.
#[derive(Debug, Clone)]
pub struct Huff0Encoder {
    kernel: Kernel,
}

impl Huff0Encoder {
    /// Bytes that one takes; tables are on the stack.
    pub const MEMORY: usize = size_of::<Self>();
    /// Bytes of the largest block.
    pub const MAX_BLOCK: usize = MAX_BLOCK;

    /// An encoder for this processor. The bytes are the same on any.
    pub fn new() -> Self {
        Huff0Encoder { kernel: Kernel::detect() }
    }

    /// Compresses a block of up to [`Huff0Encoder::MAX_BLOCK`] bytes into `dst`, of any size, and never writes past it. Needs
    /// 8 bytes of room behind the result to be fast. An error if `src` is too large.
    pub fn compress_block(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        streams: Huff0Streams,
    ) -> Result<Huff0Block, CodecError> {
        block::compress(self.kernel, src, dst, streams)
    }
}

impl Default for Huff0Encoder {
    fn default() -> Self {
        Huff0Encoder::new()
    }
}

impl Press for Huff0Encoder {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        frame::compress(self, src, room)
    }
}

impl Encoder for Huff0Encoder {
    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        let found = dst.len();
        let short = CodecError::DestinationTooSmall { found, expected: src.len() };
        let room = dst.get_mut(..src.len().saturating_sub(1)).ok_or(short)?;
        if src.is_empty() {
            return Ok(Outcome::NotSmaller);
        }
        Ok(self.press(src, room)?.map_or(Outcome::NotSmaller, Outcome::Smaller))
    }
}

/// Decompresses what [`Huff0Encoder`] and others make. As a [`Decoder`] it reads blocks that say what they are.
#[derive(Debug)]
pub struct Huff0Decoder {
    kernel: Kernel,
    tables: Box<Tables>,
}

impl Huff0Decoder {
    /// Bytes that one takes.
    pub const MEMORY: usize = size_of::<Self>() + size_of::<Tables>();

    /// A decoder for this processor.
    pub fn new() -> Self {
        Huff0Decoder { kernel: Kernel::detect(), tables: Box::new(Tables::new()) }
    }

    /// Decompresses a block into all of `dst`: how many bytes it holds, up to 128 KiB, must be known. An error if it does not end
    /// exactly there, or is malformed in another way; the content of `dst` is then unspecified.
    pub fn decompress_block(&mut self, src: &[u8], dst: &mut [u8], streams: Huff0Streams) -> Result<(), CodecError> {
        block::decompress(self.kernel, src, dst, streams, &mut self.tables)
    }
}

impl Default for Huff0Decoder {
    fn default() -> Self {
        Huff0Decoder::new()
    }
}

impl Decoder for Huff0Decoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        frame::decompress(self, src, dst)
    }
}
