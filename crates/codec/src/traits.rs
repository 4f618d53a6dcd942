//! The traits of all codecs, and the size rules of [`Encoder`]: a result is smaller than its source, or it is not used.

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

/// How much of a block's content is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPart {
    /// All of it. A block with less or more content is an error, and so are bytes after its end.
    Whole,
    /// The first bytes. A block with less content is an error.
    Start,
}

/// Upper bounds of the memory of one encoder and one decoder for blocks up to a given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Upper bound for one encoder in bytes.
    pub encoder: usize,
    /// Upper bound for one decoder in bytes.
    pub decoder: usize,
}

/// Largest block of any codec, bytes: half the range of a C `int`, the narrowest size type of the libraries.
const MAX_BLOCK_SIZE: usize = 1 << 30;

pub(crate) trait Compressor: Send {
    /// Compresses `src` (2 bytes or more) into `out`, which is one byte shorter than `src`. `None` if it does not fit.
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError>;
}

impl<P: Compressor + ?Sized> Compressor for Box<P> {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        (**self).try_compress(src, out)
    }
}

pub(crate) struct Bounded<P> {
    inner: P,
    limit: usize,
}

impl<P> Bounded<P> {
    pub(crate) fn new(inner: P, limit: usize) -> Self {
        Bounded { inner, limit }
    }
}

impl<P: Compressor + 'static> Bounded<P> {
    pub(crate) fn boxed(inner: P, limit: usize) -> Box<dyn Encoder> {
        Box::new(Bounded::new(inner, limit))
    }
}

impl<P: Compressor> Encoder for Bounded<P> {
    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        let out = limited(src, dst, self.limit)?;
        if src.len() < 2 {
            return Ok(Outcome::NotSmaller);
        }
        Ok(self.inner.try_compress(src, out)?.map_or(Outcome::NotSmaller, Outcome::Smaller))
    }
}

/// Returns the part of the destination that a result may fill and still be smaller than the source.
pub(crate) fn limited<'a>(src: &[u8], dst: &'a mut [u8], limit: usize) -> Result<&'a mut [u8], CodecError> {
    if src.len() > limit {
        return Err(CodecError::BlockTooLarge { found: src.len(), limit });
    }
    let found = dst.len();
    let too_small = CodecError::DestinationTooSmall { found, expected: src.len() };
    let usable = dst.get_mut(..src.len()).ok_or(too_small)?;
    let end = usable.len().saturating_sub(1);
    Ok(&mut usable[..end])
}

/// Rejects block sizes beyond the limit of the linked libraries.
pub(crate) fn check_block_size(codec: &'static str, size: usize) -> Result<(), CodecError> {
    if (1..=MAX_BLOCK_SIZE).contains(&size) {
        return Ok(());
    }
    Err(CodecError::BlockSize { codec, found: size, limit: MAX_BLOCK_SIZE })
}

/// Tries one more way to compress. The first attempt writes to `out`. Later attempts write to `spare`, limited to less than the best size
/// so far, and are copied to `out` if they fit. If two results have equal sizes, the first is kept.
pub(crate) fn keep_smallest(
    best: Option<usize>,
    out: &mut [u8],
    spare: &mut [u8],
    mut try_compress: impl FnMut(&mut [u8]) -> Result<Option<usize>, CodecError>,
) -> Result<Option<usize>, CodecError> {
    let Some(size) = best else {
        return try_compress(out);
    };
    let smaller = try_compress(&mut spare[..size.saturating_sub(1)])?;
    if let Some(size) = smaller {
        out[..size].copy_from_slice(&spare[..size]);
    }
    Ok(smaller.or(best))
}

/// Checks that a block has as much content as its destination.
pub(crate) fn check_filled(codec: &'static str, src: &[u8], made: usize, dst: &[u8]) -> Result<(), CodecError> {
    if made == dst.len() {
        return Ok(());
    }
    Err(CodecError::Malformed { codec, size: src.len(), reason: "less content than expected" })
}
