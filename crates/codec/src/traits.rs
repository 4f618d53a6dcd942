//! What every codec can do.

use crate::CodecError;

/// What came of compressing a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The first so many bytes of the destination are the block, and they are fewer than the source's.
    Smaller(usize),
    /// The block does not get smaller: store it. The destination's content is unspecified.
    NotSmaller,
}

/// Compresses blocks one at a time. The result is a pure function of the block and the parameters, whatever the same
/// encoder compressed before.
pub trait Encoder: Send {
    /// Compresses `src` into `dst`. `dst` must be at least as long as `src`; never writes past it.
    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError>;
}

/// Decompresses blocks one at a time, each on its own.
pub trait Decoder: Send {
    /// Decompresses `src` into `dst` and returns the number of bytes written. An error if `src` is malformed, would need
    /// more room than `dst` has, or more memory than the decoder was made for. Never reads or writes out of bounds.
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError>;
}

/// Memory that one encoder and one decoder take, in bytes, for blocks up to a given size. Upper bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes held by one encoder.
    pub encoder: usize,
    /// Bytes held by one decoder.
    pub decoder: usize,
}
