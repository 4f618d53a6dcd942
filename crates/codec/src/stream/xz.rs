//! One .xz stream of many blocks (xz `doc/xz-file-format.txt`, version 1.2). Each block has its sizes in its header, so that decoders can
//! process blocks in parallel.
//!
//! The library writes complete streams of one block. This module takes the block out of the stream and gives it a new header with the
//! sizes. The header, the index and the footer of the stream are written here.

use super::did_not_fit;
use crate::CodecError;
pub(super) use crate::xz::container::{BlockSizes, Index, stream_header};
use crate::xz::container::{CHECK, EDGE, block_header};
use crate::xz::{CodeResult, Format, LzmaModel, NAME, Settings, Stream};

/// The dictionary of a level, bytes (lzma/lzma_encoder_presets.c of 5.8).
pub(super) fn dictionary(level: u32) -> usize {
    let log = match level {
        0 => 18,
        1 => 20,
        2 => 21,
        3 | 4 => 22,
        5 | 6 => 23,
        level => level + 17,
    };
    1 << log
}

pub(super) fn memory(level: u32) -> usize {
    settings(level).library_memory()
}

fn settings(level: u32) -> Settings {
    Settings::new(&LzmaModel::new(level), dictionary(level) as u32)
}

pub(super) struct Encoder {
    stream: Stream,
    settings: Settings,
}

impl Encoder {
    pub(super) fn new(level: u32) -> Encoder {
        Encoder { stream: Stream::new(NAME), settings: settings(level) }
    }

    /// Compresses a block; returns no bytes for an empty chunk.
    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<(Vec<u8>, Option<BlockSizes>), CodecError> {
        if chunk.is_empty() {
            return Ok((Vec::new(), None));
        }
        let mut whole = vec![0; bound(chunk.len())];
        let options = self.settings.options(chunk.len());
        match self.stream.encode(Format::Xz(None), &options, chunk, &mut whole)? {
            CodeResult::Ended { written, .. } => whole.truncate(written),
            CodeResult::Rejected(code) => {
                return Err(CodecError::Library { codec: NAME, function: "lzma_code", code: code.into() });
            }
            CodeResult::Full | CodeResult::Short { .. } => return Err(did_not_fit(NAME, "lzma_code")),
        }
        with_sizes(whole, chunk.len() as u64).ok_or_else(|| did_not_fit(NAME, "lzma_stream_encoder"))
    }
}

/// Upper bound of a compressed block: LZMA2 stores incompressible data in chunks of 64 KiB with 3 bytes each, and a stream has headers and
/// an index.
fn bound(size: usize) -> usize {
    size + size / 1024 + 1024
}

/// Returns the block of a stream of one block, with a new header that contains its sizes. `None` if the stream has an unexpected layout.
fn with_sizes(mut stream: Vec<u8>, content: u64) -> Option<(Vec<u8>, Option<BlockSizes>)> {
    let old_header = (usize::from(*stream.get(EDGE)?) + 1) * 4;
    let body = stream.get(EDGE + old_header..)?;
    let footer = stream.get(stream.len().checked_sub(EDGE)?..)?;
    let index = (u32::from_le_bytes(footer.get(4..8)?.try_into().ok()?) as usize + 1) * 4;
    let padded = body.len().checked_sub(index + EDGE)?;
    // The index: a zero byte, the number of records, the unpadded size of the only one.
    let unpadded = read_number(body.get(padded + 2..)?)?;
    let compressed = usize::try_from(unpadded).ok()?.checked_sub(old_header + CHECK)?;
    let dictionary = *stream.get(EDGE + 4)?;
    let header = block_header(Some([compressed as u64, content]), None, dictionary);
    let sizes = BlockSizes { unpadded: (header.len() + compressed + CHECK) as u64, content };
    // The bytes move in place, because a copy would be as large as the block.
    stream.truncate(EDGE + old_header + padded);
    drop(stream.splice(..EDGE + old_header, header));
    Some((stream, Some(sizes)))
}

fn read_number(bytes: &[u8]) -> Option<u64> {
    let length = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)? + 1;
    Some(bytes[..length].iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)))
}
