//! The compressors of blocks, with a common interface.

use packline_codec::{CodecError, Encoder, MemberEncoder, Outcome, RawLzma, Spec, StreamSpec, ZpaqEncoder};

use crate::BackEnd;

/// Buffers of at least this many bytes are separate mappings, which shrink in place (glibc's largest threshold for mappings).
const MAPPED: usize = 32 << 20;

/// A compressor of blocks, with its parameters.
#[derive(Debug, Clone)]
pub(super) enum Coder {
    /// Blocks are not compressed.
    Stored,
    /// A codec whose blocks are stored as they are.
    Plain(BackEnd, Spec),
    /// bzip2 streams.
    Bzip2(StreamSpec),
    Lzma(RawLzma),
    /// zpaq at level 1 to 3.
    Zpaq(u32),
}

/// An instance of a [`Coder`], owned by a worker.
pub(super) enum Tool {
    /// Writes to a reused buffer of this size, which is allocated at first use.
    Encoder(Box<dyn Encoder>, Vec<u8>, usize),
    /// Allocates its output.
    Members(MemberEncoder),
}

impl Coder {
    /// The back end in records.
    pub(super) fn back_end(&self) -> BackEnd {
        match self {
            Coder::Stored => BackEnd::None,
            Coder::Plain(back_end, _) => *back_end,
            Coder::Bzip2(_) => BackEnd::Bzip2,
            Coder::Lzma(_) => BackEnd::Lzma,
            Coder::Zpaq(_) => BackEnd::Zpaq,
        }
    }

    /// Returns a tool for blocks of up to `block` bytes; `None` if blocks are stored.
    pub(super) fn tool(&self, block: usize) -> Result<Option<Tool>, CodecError> {
        let encoder = match self {
            Coder::Stored => return Ok(None),
            Coder::Bzip2(spec) => return Ok(Some(Tool::Members(spec.encoder()?))),
            Coder::Plain(_, spec) => spec.encoder(block)?,
            Coder::Lzma(lzma) => lzma.encoder(block)?,
            Coder::Zpaq(level) => Box::new(ZpaqEncoder::new(*level)?),
        };
        Ok(Some(Tool::Encoder(encoder, Vec::new(), block)))
    }

    /// Returns an upper bound for the memory of a tool for blocks of up to `block` bytes.
    pub(super) fn memory(&self, block: usize) -> u64 {
        let bytes = match self {
            Coder::Stored => 0,
            Coder::Plain(_, spec) => spec.footprint(block).encoder + block,
            // The output grows while the encoder runs.
            Coder::Bzip2(spec) => spec.memory() + block + block / 64,
            Coder::Lzma(lzma) => lzma.memory(block) + block,
            Coder::Zpaq(level) => ZpaqEncoder::footprint(*level).map_or(0, |footprint| footprint.encoder) + block,
        };
        bytes as u64
    }
}

impl Tool {
    /// Compresses a block. Returns `None` if the block does not get smaller.
    pub(super) fn compress(&mut self, plain: &[u8]) -> Result<Option<Vec<u8>>, CodecError> {
        match self {
            Tool::Encoder(encoder, buffer, block) => match encoder.compress(plain, ready(buffer, *block))? {
                Outcome::Smaller(size) => Ok(Some(made_in(buffer, size))),
                Outcome::NotSmaller => Ok(None),
            },
            Tool::Members(encoder) => {
                let member = encoder.encode(plain)?;
                Ok(Some(member.bytes).filter(|bytes| bytes.len() < plain.len()))
            }
        }
    }
}

/// Returns `buffer`, allocated for a block at first use.
fn ready(buffer: &mut Vec<u8>, block: usize) -> &mut [u8] {
    if buffer.len() < block {
        *buffer = vec![0; block];
    }
    buffer
}

/// Returns the first `size` bytes of `buffer`. A large buffer is moved out, so that the output is not in memory twice.
fn made_in(buffer: &mut Vec<u8>, size: usize) -> Vec<u8> {
    if buffer.len() < MAPPED {
        return buffer[..size].to_vec();
    }
    let mut made = std::mem::take(buffer);
    made.truncate(size);
    made.shrink_to_fit();
    made
}
