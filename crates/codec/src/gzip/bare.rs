//! Raw DEFLATE, without a zlib wrapper. libdeflate decodes complete blocks; zlib decodes the start of a block, at half the speed.

use super::inflate::StartInflater;
use super::trial::{Trial, encoder_memory};
use super::{DECODER_MEMORY, DEFLATE, GzipParams, Inflater};
use crate::traits::{Compressor, check_filled};
use crate::{BlockPart, CodecError};

/// Bytes of the zlib header (RFC 1950).
const HEADER: usize = 2;
/// Bytes of the wrapper: the header and the checksum.
const WRAPPER: usize = HEADER + 4;
/// The bits of a stored block's first byte that decoders ignore (RFC 1951, 3.2.4).
const IGNORED_BITS: u8 = !0b111;

/// Encodes a zlib stream and removes the wrapper.
pub(crate) struct BareDeflater {
    trial: Trial,
    wrapped: Vec<u8>,
}

impl BareDeflater {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(crate) fn new(params: &GzipParams, block_size: usize) -> Result<BareDeflater, CodecError> {
        let size = block_size + WRAPPER;
        Ok(BareDeflater { trial: Trial::new(params, size)?, wrapped: vec![0; size] })
    }

    /// Memory of an encoder in bytes.
    pub(crate) fn memory(params: &GzipParams, block_size: usize) -> usize {
        let size = block_size + WRAPPER;
        encoder_memory(params, size) + size
    }
}

impl Compressor for BareDeflater {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let wrapped = &mut self.wrapped[..out.len() + WRAPPER];
        let Some(size) = self.trial.try_compress(src, wrapped)? else { return Ok(None) };
        let bare = &wrapped[HEADER..HEADER + size - WRAPPER];
        out[..bare.len()].copy_from_slice(bare);
        avoid_zero(out);
        Ok(Some(bare.len()))
    }
}

/// Sets bits that are ignored if the first byte is 0, because readers skip zeros before a block. The byte is 0 only at the start of a
/// stored block.
fn avoid_zero(block: &mut [u8]) {
    if let Some(first @ 0) = block.first_mut() {
        *first = IGNORED_BITS;
    }
}

pub(crate) struct BareInflater {
    whole: Inflater,
    /// Created at its first use.
    start: Option<StartInflater>,
}

impl BareInflater {
    /// Memory of a decoder in bytes.
    pub(crate) const MEMORY: usize = DECODER_MEMORY + StartInflater::MEMORY;

    pub(crate) fn new() -> Result<BareInflater, CodecError> {
        Ok(BareInflater { whole: Inflater::new()?, start: None })
    }

    /// Fills `dst` with the content of a block, or with the start of it.
    pub(crate) fn fill(&mut self, src: &[u8], dst: &mut [u8], part: BlockPart) -> Result<(), CodecError> {
        let made = match part {
            BlockPart::Whole => self.whole.inflate_bare(src, dst)?,
            BlockPart::Start => self.start()?.inflate(src, dst)?,
        };
        check_filled(DEFLATE, src, made, dst)
    }

    fn start(&mut self) -> Result<&mut StartInflater, CodecError> {
        let start = match self.start.take() {
            Some(start) => start,
            None => StartInflater::new()?,
        };
        Ok(self.start.insert(start))
    }
}
