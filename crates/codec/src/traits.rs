//! The traits of all codecs.

use crate::CodecError;

/// Result of compressing a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Size of the compressed block in bytes, less than the source's. The block is at the start of the destination.
    Smaller(usize),
    /// The block does not get smaller: store it. The destination's content is unspecified.
    NotSmaller,
}

/// Compresses blocks one at a time. The result is a pure function of the block and the parameters, independent of earlier calls.
pub trait Encoder: Send {
    /// Compresses `src` into `dst`, which must be at least as long as `src`.
    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError>;
}

/// Decompresses independent blocks.
pub trait Decoder: Send {
    /// Decompresses `src` into `dst` and returns the number of bytes written. Returns an error if `src` is malformed, expands beyond `dst`,
    /// or needs more memory than the decoder's limit.
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError>;
}

/// Upper bounds of the memory of one encoder and one decoder for blocks up to a given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Upper bound for one encoder in bytes.
    pub encoder: usize,
    /// Upper bound for one decoder in bytes.
    pub decoder: usize,
}
