//! Huff0, the entropy coder of Collet's Finite State Entropy and of Zstandard's literals (RFC 8878, 4.2), bit for bit.
//!
//! # A block
//!
//! What `HUF_compress` makes, and a literals section of Zstandard holds behind its head. It says neither its size, nor its content's
//! (up to 131,072 bytes), nor how many streams it has.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | h. From 128 on: h - 127 weights follow, of 4 bits each; below: h bytes of coded weights |
//! | (h - 126) / 2 or h | the weights of symbols 0, 1, ...: as nibbles, the first in the upper half; or coded by FSE |
//! | 6 | four streams only: bytes of the first, second and third, two each, the low one first |
//! | the rest | the stream or streams, with nothing between and behind them |
//!
//! - A weight w of 1 to 12 means a code of m + 1 - w bits, m the bits of the longest code; 0 a symbol that does not occur. Weight w
//!   counts 2^(w - 1). One more weight, that of the symbol behind the last one said, is what the sum lacks of the next power of two above it,
//!   2^m; it has to be a power of two, m at most 12 (11 here when writing), and the number of codes of m bits even and not 0.
//! - Codes: those of m bits have the lowest values, then those of m - 1, and so on; of one length the lower symbol has the lower code.
//! - Coded weights: a distribution as in RFC 8878, 4.1.1, of 32 or 64 states, then a stream that is read from its end: the first state, the
//!   second, and then by turns each gives its weight and is left by as many bits as its entry says. When more bits are wanted than there
//!   are, the other state's weight is the last. At most 255 weights.
//! - Streams are read from the end: the highest set bit of the last byte is a mark; below it is the first code, its highest bit first. A
//!   stream must end with the first bit of its first byte. Four streams have a quarter of the content each, rounded up, the last one the rest.
//!
//! # Blocks that say what they are
//!
//! What [`Encoder`] and [`Decoder`] have: blocks one behind the other, up to the end of the data, one at least. Here all but the last have
//! 131,072 bytes of content; a reader takes any. A block begins with a number of 3 or 5 bytes, the low one first:
//!
//! | bits | what |
//! |---|---|
//! | 0, 1 | kind: 0 stored, 1 a single symbol, 2 one stream, 3 four streams |
//! | 2 to 18 | bytes of content, less 1 |
//! | 19 to 35 | kinds 2 and 3: bytes of the block that follows, less 1 |
//! | the rest | 0: up to bit 23 of the 3 bytes of kinds 0 and 1, up to bit 39 of the 5 bytes of kinds 2 and 3 |
//!
//! Then come the content, the one symbol, or a block as above. Content of less than 1,024 bytes has one stream here.
//!
//! # How it is done
//!
//! Content of which no code can save anything is mostly told from samples of it (`flat.rs`): its symbols are then not all counted.
//! Encoding looks up codes 32 at a time with AVX-512 (`wide.rs`), else twice 5 (`encode.rs`). Decoding takes one symbol or up to three at a step
//! (`table.rs`), as the code makes worth it, of four streams together (`fast.rs`), with bounds looked at every few steps; what is left is
//! done with care (`decode.rs`). Which instructions are used (`kernel.rs`) changes no byte.

mod bits;
mod block;
mod decode;
mod distribution;
mod encode;
mod fast;
mod flat;
mod frame;
mod fse;
mod histogram;
mod kernel;
mod lengths;
mod limited;
mod table;
#[cfg(test)]
mod tests;
mod weights;
#[cfg(target_arch = "x86_64")]
mod wide;

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
    /// 64 bytes of room behind the result to be fast. An error if `src` is too large.
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
