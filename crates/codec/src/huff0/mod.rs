//! Huff0, the entropy coder of Collet's Finite State Entropy and of Zstandard's literals (RFC 8878, 4.2), bit for bit.
//!
//! # A block
//!
//! The output of `HUF_compress`, and of a literals section of Zstandard after its header. A block does not store its size, the size of its
//! content (up to 131,072 bytes), or the number of its streams.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | h. From 128 on: h - 127 weights of 4 bits each follow; below 128: h bytes of coded weights follow |
//! | (h - 126) / 2 or h | the weights of symbols 0, 1, ...: as nibbles, the first in the upper half; or coded by FSE |
//! | 6 | four streams only: sizes of the first, second and third, 16-bit little endian |
//! | the rest | the stream or streams, without gaps |
//!
//! - Weights: a weight w of 1 to 12 means a code of m + 1 - w bits, where m is the number of bits of the longest code; 0 means that the
//!   symbol does not occur. Weight w counts 2^(w - 1). The weight of the symbol after the last listed one is the difference of the sum to
//!   the next power of two, 2^m. The difference must be a power of two, m at most 12 (11 here when writing), and the number of codes of m
//!   bits even and not 0.
//! - Codes: those of m bits have the lowest values, then those of m - 1, and so on. Among codes of one length the lower symbol has the
//!   lower code.
//! - Coded weights: a distribution as in RFC 8878, 4.1.1, of 32 or 64 states, then a stream that is read from its end: the first state, the
//!   second, and then the two in turn. Each gives its weight and then takes as many bits as its entry says. When more bits are needed than
//!   remain, the other state's weight is the last. There are at most 255 weights.
//! - Streams are read from the end: the highest set bit of the last byte is a mark; below the mark is the first code, its highest bit
//!   first. A stream must end with the first bit of its first byte. Each of four streams has a quarter of the content, rounded up; the last
//!   one has the rest.
//!
//! # Blocks with headers
//!
//! The format of [`Spec::Huff0`](crate::Spec::Huff0): one or more blocks up to the end of the data. The encoder puts 131,072 bytes of
//! content into all blocks except the last; the decoder accepts any size. A block begins with a little-endian number of 3 or 5 bytes:
//!
//! | bits | content |
//! |---|---|
//! | 0, 1 | kind: 0 stored, 1 a single symbol, 2 one stream, 3 four streams |
//! | 2 to 18 | bytes of content, less 1 |
//! | 19 to 35 | kinds 2 and 3: bytes of the block that follows, less 1 |
//! | the rest | 0: up to bit 23 of the 3 bytes of kinds 0 and 1, up to bit 39 of the 5 bytes of kinds 2 and 3 |
//!
//! The content, the single symbol, or a block as above follows. The encoder writes one stream for content of less than 1,024 bytes.
//!
//! # Implementation
//!
//! Incompressible content is usually detected from samples (`encode/histogram.rs`), without counting all symbols. Encoding looks up codes
//! 32 at a time with AVX-512 (`encode/avx512.rs`), otherwise twice 5 (`encode/mod.rs`). Decoding takes one symbol or up to three per step
//! (`decode/table.rs`), whichever is faster for the code. It decodes four streams together (`decode/fast.rs`), with bounds checks every few
//! steps; the rest is decoded with all checks (`decode/mod.rs`). The instruction set (`../processor.rs`) does not change any byte.

mod bits;
mod block;
mod decode;
mod distribution;
mod encode;
mod frame;
mod fse;
#[cfg(test)]
mod tests;
mod weights;

use crate::processor::Kernel;
use crate::traits::Compressor;
use crate::{CodecError, Decoder};
use decode::table::Tables;

pub(crate) const NAME: &str = "huff0";

pub(crate) const HELP: &str = "\
huff0: entropy coding of bytes, without matches: Huff0 blocks of up to 128 KiB; no parameters
";

/// Maximum code length when reading, bits.
const MAX_BITS: u32 = 12;
/// Maximum code length when writing, bits, as in other encoders.
const USED_BITS: u32 = 11;
/// Bytes of the largest block.
const MAX_BLOCK: usize = 128 << 10;

/// Result of compressing a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Huff0Block {
    /// Size of the block in bytes, less than the source's. The block is at the start of the destination.
    Compressed(usize),
    /// All bytes are equal to this one; the destination is unchanged.
    SingleSymbol(u8),
    /// The block does not get smaller, or does not fit the destination, whose content is unspecified.
    NotCompressible,
}

/// Number of streams of a block, which the block does not store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Huff0Streams {
    /// One stream: a few bytes smaller.
    One,
    /// Four streams and a jump table: decoded together, several times as fast. Needs at least 12 bytes of content.
    Four,
}

/// Compresses with Huff0: single blocks ([`Huff0Encoder::compress_block`]), or blocks with headers ([`Spec::Huff0`](crate::Spec::Huff0)).
#[derive(Debug, Clone)]
pub struct Huff0Encoder {
    kernel: Kernel,
}

impl Huff0Encoder {
    /// Memory of an encoder in bytes; tables are on the stack.
    pub const MEMORY: usize = size_of::<Self>();
    /// Bytes of the largest block.
    pub const MAX_BLOCK: usize = MAX_BLOCK;

    /// An encoder for this processor. The output is the same on every processor.
    pub fn new() -> Self {
        Huff0Encoder { kernel: Kernel::detect() }
    }

    /// Compresses a block of up to [`Huff0Encoder::MAX_BLOCK`] bytes into `dst`, which may have any size. Compression is fast if `dst` has
    /// 64 bytes more than the result. Returns an error if `src` is too large.
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

impl Compressor for Huff0Encoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        frame::compress(self, src, out)
    }
}

/// Decompresses Huff0 blocks; as a [`Decoder`] it reads blocks with headers.
#[derive(Debug)]
pub struct Huff0Decoder {
    kernel: Kernel,
    tables: Box<Tables>,
}

impl Huff0Decoder {
    /// Memory of a decoder in bytes.
    pub const MEMORY: usize = size_of::<Self>() + size_of::<Tables>();

    /// A decoder for this processor.
    pub fn new() -> Self {
        Huff0Decoder { kernel: Kernel::detect(), tables: Box::new(Tables::new()) }
    }

    /// Decompresses a block into all of `dst`. The caller must know the size of the content, up to 128 KiB. Returns an error if the content
    /// has another size or the block is malformed; the content of `dst` is then unspecified.
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
