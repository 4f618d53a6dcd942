//! A sequence of blocks with headers.

use super::{Huff0Block, Huff0Decoder, Huff0Encoder, Huff0Streams, MAX_BLOCK, NAME};
use crate::CodecError;

const STORED: u64 = 0;
const SINGLE: u64 = 1;
const ONE_STREAM: u64 = 2;
const FOUR_STREAMS: u64 = 3;

/// Bytes of the header of a stored block or of a single symbol.
const SHORT_HEADER: usize = 3;
/// Bytes of the header of a compressed block.
const LONG_HEADER: usize = 5;
/// Bits of a size less 1.
const SIZE_BITS: u32 = 17;
/// Below this size one stream is written, which is a percent smaller; speed matters less there.
const MIN_FOR_FOUR: usize = 1024;

/// Compresses `src` into `out`. `None` if it does not fit.
pub(super) fn compress(encoder: &mut Huff0Encoder, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
    let mut size = 0;
    for block in src.chunks(MAX_BLOCK) {
        let Some(rest) = out.get_mut(size..) else { return Ok(None) };
        let Some(added) = put(encoder, block, rest)? else { return Ok(None) };
        size += added;
    }
    Ok(Some(size))
}

/// Writes a block with its header. `None` if it does not fit.
fn put(encoder: &mut Huff0Encoder, block: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
    let (streams, kind) = match block.len() {
        MIN_FOR_FOUR.. => (Huff0Streams::Four, FOUR_STREAMS),
        _ => (Huff0Streams::One, ONE_STREAM),
    };
    let sizes = |kind: u64, size: usize| kind | (block.len() as u64 - 1) << 2 | (size as u64 - 1) << (2 + SIZE_BITS);
    let (_, body) = out.split_at_mut(LONG_HEADER.min(out.len()));
    // The block is stored if the body does not save at least the longer header.
    let body_limit = body.len().min(block.len() - 1);
    Ok(match encoder.compress_block(block, &mut body[..body_limit], streams)? {
        Huff0Block::Compressed(size) if size + 2 < block.len() => {
            head(out, sizes(kind, size), LONG_HEADER).map(|head| head + size)
        }
        Huff0Block::SingleSymbol(symbol) => head(out, sizes(SINGLE, 1), SHORT_HEADER).and_then(|head| {
            *out.get_mut(head)? = symbol;
            Some(head + 1)
        }),
        _ => head(out, sizes(STORED, 1), SHORT_HEADER).and_then(|head| {
            out.get_mut(head..head + block.len())?.copy_from_slice(block);
            Some(head + block.len())
        }),
    })
}

/// Writes the low bytes of a header. `None` if they do not fit.
fn head(out: &mut [u8], value: u64, size: usize) -> Option<usize> {
    out.get_mut(..size)?.copy_from_slice(&value.to_le_bytes()[..size]);
    Some(size)
}

pub(super) fn decompress(decoder: &mut Huff0Decoder, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
    let malformed = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
    if src.is_empty() {
        return Err(malformed("no block"));
    }
    let mut rest = src;
    let mut made = 0;
    let capacity = dst.len();
    while !rest.is_empty() {
        let block = Block::split(&mut rest).map_err(malformed)?;
        let too_long = CodecError::TooLong { codec: NAME, size: src.len(), capacity };
        let out = dst.get_mut(made..made + block.size).ok_or(too_long)?;
        block.decompress(decoder, out)?;
        made += block.size;
    }
    Ok(made)
}

/// A block with its decoded header.
struct Block<'a> {
    kind: u64,
    /// Size of the content in bytes.
    size: usize,
    body: &'a [u8],
}

impl<'a> Block<'a> {
    /// Splits a block off the start of `rest`.
    fn split(rest: &mut &'a [u8]) -> Result<Self, &'static str> {
        let kind = u64::from(rest.first().copied().unwrap_or(0) & 3);
        let long = kind >= ONE_STREAM;
        let (head, behind) = rest
            .split_at_checked(if long { LONG_HEADER } else { SHORT_HEADER })
            .ok_or("a block header that is cut off")?;
        let mut bytes = [0; 8];
        bytes[..head.len()].copy_from_slice(head);
        let value = u64::from_le_bytes(bytes) >> 2;
        let size = (value & ((1 << SIZE_BITS) - 1)) as usize + 1;
        let more = (value >> SIZE_BITS) as usize;
        let stored = match kind {
            _ if long && more < 1 << SIZE_BITS => more + 1,
            STORED if more == 0 => size,
            SINGLE if more == 0 => 1,
            _ => return Err("a block header with bits that must be 0"),
        };
        let (body, behind) = behind.split_at_checked(stored).ok_or("a block that is cut off")?;
        *rest = behind;
        Ok(Block { kind, size, body })
    }

    fn decompress(&self, decoder: &mut Huff0Decoder, out: &mut [u8]) -> Result<(), CodecError> {
        match self.kind {
            STORED => out.copy_from_slice(self.body),
            SINGLE => out.fill(self.body[0]),
            ONE_STREAM => decoder.decompress_block(self.body, out, Huff0Streams::One)?,
            _ => decoder.decompress_block(self.body, out, Huff0Streams::Four)?,
        }
        Ok(())
    }
}
