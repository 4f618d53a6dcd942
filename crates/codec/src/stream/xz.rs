//! One .xz stream of many blocks (xz `doc/xz-file-format.txt`, version 1.2), each with its sizes in its header, so that decoders can work
//! on them in parallel.
//!
//! The library writes whole streams of one block. The block is taken out of its stream and gets a new header with the sizes; the
//! stream's header, index and footer are written here.

use super::did_not_fit;
use crate::CodecError;
use crate::xz::{Code, Format, LzmaModel, NAME, Settings, Stream};

/// Bytes of a stream header, and of a stream footer.
const EDGE: usize = 12;
/// Stream flags: a CRC-32 of the content of each block.
const FLAGS: [u8; 2] = [0, 1];
/// Bytes of that check.
const CHECK: usize = 4;

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
    settings(level).memory()
}

fn settings(level: u32) -> Settings {
    Settings::new(&LzmaModel::new(level), dictionary(level) as u32)
}

/// Sizes of a block as stored in the index, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockSizes {
    /// Header, compressed data and check, without padding.
    unpadded: u64,
    content: u64,
}

pub(super) struct Encoder {
    stream: Stream,
    settings: Settings,
}

impl Encoder {
    pub(super) fn new(level: u32) -> Encoder {
        Encoder { stream: Stream::new(NAME), settings: settings(level) }
    }

    /// Compresses a block; empty for an empty chunk.
    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<(Vec<u8>, Option<BlockSizes>), CodecError> {
        if chunk.is_empty() {
            return Ok((Vec::new(), None));
        }
        let mut whole = vec![0; bound(chunk.len())];
        let options = self.settings.options(chunk.len());
        match self.stream.encode(Format::Xz(None), &options, chunk, &mut whole)? {
            Code::Ended { written, .. } => whole.truncate(written),
            Code::Refused(code) => {
                return Err(CodecError::Library { codec: NAME, function: "lzma_code", code: code.into() });
            }
            Code::Full | Code::Short => return Err(did_not_fit(NAME, "lzma_code")),
        }
        with_sizes(whole, chunk.len() as u64).ok_or_else(|| did_not_fit(NAME, "lzma_stream_encoder"))
    }
}

/// LZMA2 stores incompressible data in pieces of 64 KiB with 3 bytes each; headers and index are added.
fn bound(size: usize) -> usize {
    size + size / 1024 + 1024
}

/// The block of a stream of one block, with a new header that contains its sizes. `None` if the stream has an unexpected layout.
fn with_sizes(mut stream: Vec<u8>, content: u64) -> Option<(Vec<u8>, Option<BlockSizes>)> {
    let old_header = (usize::from(*stream.get(EDGE)?) + 1) * 4;
    let body = stream.get(EDGE + old_header..)?;
    let footer = stream.get(stream.len().checked_sub(EDGE)?..)?;
    let index = (u32::from_le_bytes(footer.get(4..8)?.try_into().ok()?) as usize + 1) * 4;
    let padded = body.len().checked_sub(index + EDGE)?;
    // The index: a zero, one record, its unpadded size.
    let unpadded = read_number(body.get(padded + 2..)?)?;
    let compressed = usize::try_from(unpadded).ok()?.checked_sub(old_header + CHECK)?;
    let dictionary = *stream.get(EDGE + 4)?;
    let header = block_header(compressed as u64, content, dictionary);
    let sizes = BlockSizes { unpadded: (header.len() + compressed + CHECK) as u64, content };
    // In place: a copy would be as large as the block.
    stream.truncate(EDGE + old_header + padded);
    drop(stream.splice(..EDGE + old_header, header));
    Some((stream, Some(sizes)))
}

/// A block header with both sizes and one filter, LZMA2.
fn block_header(compressed: u64, content: u64, dictionary: u8) -> Vec<u8> {
    let mut header = vec![0, 0xc0];
    put_number(&mut header, compressed);
    put_number(&mut header, content);
    header.extend_from_slice(&[0x21, 1, dictionary]);
    header.resize(header.len().next_multiple_of(4), 0);
    header[0] = (header.len() / 4) as u8;
    put_crc(&mut header);
    header
}

pub(super) fn stream_header() -> Vec<u8> {
    let mut header = b"\xfd7zXZ\0".to_vec();
    header.extend_from_slice(&FLAGS);
    header.extend_from_slice(&crc32(&FLAGS).to_le_bytes());
    header
}

/// The index of a stream under construction.
#[derive(Debug, Default)]
pub(super) struct Index {
    count: u64,
    records: Vec<u8>,
}

impl Index {
    pub(super) fn add(&mut self, sizes: BlockSizes) {
        self.count += 1;
        put_number(&mut self.records, sizes.unpadded);
        put_number(&mut self.records, sizes.content);
    }

    /// The index and the stream footer.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut end = vec![0];
        put_number(&mut end, self.count);
        end.extend_from_slice(&self.records);
        end.resize(end.len().next_multiple_of(4), 0);
        put_crc(&mut end);
        let size = (end.len() / 4 - 1) as u32;
        let words = [&size.to_le_bytes()[..], &FLAGS].concat();
        end.extend_from_slice(&crc32(&words).to_le_bytes());
        end.extend_from_slice(&words);
        end.extend_from_slice(b"YZ");
        end
    }
}

/// A number of the format: 7 bits a byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &[u8]) -> Option<u64> {
    let length = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)? + 1;
    Some(bytes[..length].iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)))
}

fn put_crc(bytes: &mut Vec<u8>) {
    let crc = crc32(bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
}

#[allow(unsafe_code, reason = "calls a C library")]
fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: the pointer is valid for the length given.
    unsafe { liblzma_sys::lzma_crc32(bytes.as_ptr(), bytes.len(), 0) }
}
