//! The chunks and blocks of a file with their offsets, read on demand.

use super::bytes::Bytes;
use crate::Error;
use crate::format::{BackEnd, Dialect, Filter, Record, Width};

/// The magic of a further part of a file of version 0.7, and the length of the part's header.
const CONTINUATION: (&[u8; 4], u64) = (b"LRZC", 24);

/// The head of a chunk, with its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Offset of the chunk in the file, in bytes.
    pub offset: u64,
    /// Width of distances, and of records if they are not encrypted.
    pub width: Width,
    /// Whether the head marks the chunk as the last. The mark has no effect if the magic has a size. `None` in versions 0.4 and 0.5.
    pub last: Option<bool>,
    /// Bytes of plain data that the head declares. Only the low bytes of the number are stored for small chunks, so it is not exact.
    pub declared: Option<u64>,
    /// The filter to reverse after the chunk is decoded.
    pub filter: Option<Filter>,
    /// Offset of the chunk's first record. [`Record::next`] is relative to it.
    pub base: u64,
    /// The first records of streams 0 and 1.
    pub heads: [Record; 2],
}

/// The smallest size that a chunk's head declares, in bytes.
const MIN_DECLARED: u64 = 4096;

impl ChunkInfo {
    /// Upper bound for the chunk's plain data, in bytes.
    pub(super) fn max_plain(&self) -> u64 {
        self.declared.map_or(self.width.max_number(), |declared| declared.max(MIN_DECLARED))
    }
}

/// The record of a block, with its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockInfo {
    /// Offset of the block's record in the file, in bytes.
    pub offset: u64,
    /// The compressor of the block.
    pub back_end: BackEnd,
    /// The filter to reverse after decompression.
    pub filter: Option<Filter>,
    /// Bytes in the file, without the bytes that encryption adds.
    pub stored: u64,
    /// Bytes of plain data.
    pub plain: u64,
    /// Offset of the record of the stream's next block from [`ChunkInfo::base`]; 0 if there is no next block.
    pub next: u64,
    /// Offset of the block's data in the file, including the bytes that encryption adds.
    pub data: u64,
    /// Size of the block's data in the file, including the bytes that encryption adds.
    pub size: u64,
}

impl BlockInfo {
    /// The end of the block's data in the file.
    pub fn end(&self) -> u64 {
        self.data + self.size
    }
}

/// Iterates over the blocks of a stream in order. It ends after an error.
#[derive(Clone)]
pub struct Blocks<'a> {
    bytes: &'a Bytes,
    cursor: Cursor,
}

impl Iterator for Blocks<'_> {
    type Item = Result<BlockInfo, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.advance(self.bytes).transpose()
    }
}

impl<'a> Blocks<'a> {
    pub(super) fn new(bytes: &'a Bytes, chunk: &ChunkInfo, stream: usize) -> Blocks<'a> {
        Blocks { bytes, cursor: Cursor::new(bytes, chunk, stream) }
    }
}

/// A position in the records of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    base: u64,
    width: Width,
    stream: usize,
    /// Offset of the next record from `base`; 0 at the end.
    next: u64,
    /// Minimum offset of further records of this stream from `base`. It prevents cycles.
    least: u64,
    /// Bytes of records and data so far.
    spent: u64,
}

impl Cursor {
    pub(super) fn new(bytes: &Bytes, chunk: &ChunkInfo, stream: usize) -> Cursor {
        let width = bytes.record_width(chunk.width);
        let least = 2 * bytes.record_size(width);
        Cursor { base: chunk.base, width, stream, next: chunk.heads[stream].next, least, spent: 0 }
    }

    /// Returns the next block; `None` after the last.
    pub(super) fn advance(&mut self, bytes: &Bytes) -> Result<Option<BlockInfo>, Error> {
        if self.next == 0 {
            return Ok(None);
        }
        let next = std::mem::take(&mut self.next);
        let block = self.read(bytes, next)?;
        self.next = block.next;
        self.least = block.end() - self.base;
        self.spent += block.end() - block.offset;
        Ok(Some(block).filter(|block| block.plain > 0))
    }

    fn read(&self, bytes: &Bytes, next: u64) -> Result<BlockInfo, Error> {
        let offset = self.base.saturating_add(next);
        if next < self.least {
            let what = format!("the next record of stream {}", self.stream);
            return Err(Error::corrupt(offset, what, format!("a record after byte {}", self.base + self.least)));
        }
        let record = bytes.record(offset, self.width)?;
        let (back_end, filter) = coding(record.tag, bytes.magic.dialect).ok_or_else(|| {
            Error::corrupt(offset, format!("a block of type {}", record.tag), "a type between 3 and 8")
        })?;
        let data = offset + bytes.record_size(self.width);
        let size = match record.stored {
            0 => bytes.seal.empty_size(bytes.end.saturating_sub(data)),
            stored => bytes.seal.data_size(stored),
        };
        let Record { stored, plain, next, .. } = record;
        let block = BlockInfo { offset, back_end, filter, stored, plain, next, data, size };
        self.check(&block)?;
        // An empty block may end stream 1. It has no padding unless the file is encrypted.
        bytes.check(data, size, "bytes of a block")?;
        Ok(block)
    }

    fn check(&self, block: &BlockInfo) -> Result<(), Error> {
        let stored = block.stored;
        let plain = block.plain;
        let stream = self.stream;
        let empty = stored == 0 && plain == 0 && block.next == 0 && stream == 1;
        if (stored == 0 || plain == 0) && !empty {
            let what = format!("a block of stream {stream} of {stored} bytes for {plain}");
            return Err(Error::corrupt(block.offset, what, "at least 1 byte of each"));
        }
        if block.back_end == BackEnd::None && stored != plain {
            let what = format!("an uncompressed block of {stored} bytes for {plain}");
            return Err(Error::corrupt(block.offset, what, "equal sizes"));
        }
        if i64::try_from(plain).is_err() {
            let what = format!("a block of {plain} bytes");
            return Err(Error::corrupt(block.offset, what, "fewer than 9223372036854775808"));
        }
        Ok(())
    }
}

/// Returns the back end and the filter for a record's tag.
fn coding(tag: u8, dialect: Dialect) -> Option<(BackEnd, Option<Filter>)> {
    if let Some(back_end) = BackEnd::of_tag(tag) {
        return Some((back_end, None));
    }
    let filter = Filter::of_block(tag).filter(|_| dialect == Dialect::V7)?;
    Some((BackEnd::Lzma, Some(filter)))
}

/// Iterates over the chunks of a file in order. It ends after an error.
pub struct Chunks<'a> {
    bytes: &'a Bytes,
    walk: Walk,
    before: Option<ChunkInfo>,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(bytes: &'a Bytes) -> Chunks<'a> {
        Chunks { bytes, walk: Walk::new(bytes), before: None }
    }

    fn advance(&mut self) -> Result<Option<ChunkInfo>, Error> {
        if let Some(before) = self.before.take() {
            let end = extent(self.bytes, &before)?;
            self.walk.leave(self.bytes, &before, end)?;
        }
        let chunk = self.walk.enter(self.bytes)?;
        self.before = chunk;
        Ok(chunk)
    }
}

impl Iterator for Chunks<'_> {
    type Item = Result<ChunkInfo, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.advance().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.walk.ended = true;
            self.before = None;
        }
        item
    }
}

/// Returns the end of a chunk: the end of its last block.
pub(super) fn extent(bytes: &Bytes, chunk: &ChunkInfo) -> Result<u64, Error> {
    let heads = 2 * bytes.record_size(bytes.record_width(chunk.width));
    let mut end = chunk.base + heads;
    let mut sum = heads;
    for stream in 0..2 {
        let mut cursor = Cursor::new(bytes, chunk, stream);
        while cursor.advance(bytes)?.is_some() {}
        sum += cursor.spent;
        end = end.max(chunk.base + cursor.least);
    }
    if sum > end - chunk.base {
        let what = format!("blocks of {sum} bytes in a chunk of {}", end - chunk.base);
        return Err(Error::corrupt(chunk.offset, what, "blocks that do not overlap"));
    }
    Ok(end)
}

/// A position in the chunks of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    /// Offset of the next chunk.
    at: u64,
    /// Whether there are no more chunks.
    ended: bool,
    /// The header of the current part, in version 0.7.
    part: Option<Part>,
}

/// A part of a file of version 0.7, which holds one chunk.
#[derive(Debug, Clone, Copy)]
struct Part {
    last: bool,
    /// The end of the part, if the file states it.
    end: Option<u64>,
}

impl Walk {
    pub(super) fn new(bytes: &Bytes) -> Walk {
        let [streaming, last] = bytes.magic.extra;
        let parts = bytes.magic.dialect == Dialect::V7 && (streaming == 1 || last == 0);
        // Before 0.6, an empty input had no chunk.
        let ended = bytes.magic.dialect < Dialect::V6 && bytes.first == bytes.end;
        Walk { at: bytes.first, ended, part: parts.then_some(Part { last: last == 1, end: None }) }
    }

    /// Reads the head of the next chunk; `None` after the last.
    pub(super) fn enter(&mut self, bytes: &Bytes) -> Result<Option<ChunkInfo>, Error> {
        if self.ended {
            return Ok(None);
        }
        let chunk = head(bytes, self.at)?;
        match (self.part, chunk.last) {
            (Some(part), Some(last)) if part.last != last => {
                let what = format!("a chunk whose mark for the last chunk is {last}");
                Err(Error::corrupt(self.at, what, format!("{}, as its part states", part.last)))
            }
            _ => Ok(Some(chunk)),
        }
    }

    /// Continues after the end of a chunk.
    pub(super) fn leave(&mut self, bytes: &Bytes, chunk: &ChunkInfo, end: u64) -> Result<(), Error> {
        if let Some(declared) = self.part.and_then(|part| part.end).filter(|&declared| declared != end) {
            return Err(Error::corrupt(
                chunk.offset,
                format!("a chunk of {} bytes", end - chunk.offset),
                format!("{}, as its part states", declared.saturating_sub(chunk.offset)),
            ));
        }
        self.at = end;
        // lrzip 0.651 marks every chunk as the last if it knows the total size in advance.
        let flag = chunk.last.filter(|_| bytes.magic.size.is_none() || self.part.is_some());
        self.ended = flag.unwrap_or(end == bytes.end);
        if self.ended && end != bytes.end {
            let what = format!("{} bytes after the last chunk", bytes.end - end);
            return Err(Error::corrupt(end, what, "only a digest"));
        }
        if self.part.is_some() && !self.ended {
            self.part = Some(continuation(bytes, end)?);
            self.at = end + CONTINUATION.1;
        }
        Ok(())
    }
}

/// Reads the header of a further part of a file of version 0.7.
fn continuation(bytes: &Bytes, at: u64) -> Result<Part, Error> {
    let mut head = [0; CONTINUATION.1 as usize];
    bytes.read(at, &mut head)?;
    if !head.starts_with(CONTINUATION.0) || head[20] > 1 || head[21..] != [0; 3] {
        return Err(Error::corrupt(at, format!("{:02x?}", &head[..4]), "'LRZC', and flags 0 or 1"));
    }
    let size = u64::from_le_bytes(std::array::from_fn(|index| head[12 + index]));
    let begin = at + CONTINUATION.1;
    bytes.check(begin, size, "bytes of a part")?;
    Ok(Part { last: head[20] == 1, end: Some(begin + size) })
}

/// Reads the head of the chunk at `at`.
fn head(bytes: &Bytes, at: u64) -> Result<ChunkInfo, Error> {
    let dialect = bytes.magic.dialect;
    let mut parser = HeadParser { bytes, at };
    let width = if dialect == Dialect::V4 { Width::FULL } else { parser.width()? };
    let filter = if bytes.filters { parser.filter()? } else { None };
    let ends = dialect >= Dialect::V6;
    let last = if ends { Some(parser.flag()?) } else { None };
    let declared = if ends && !bytes.seal.is_encrypted() { Some(parser.number(width)?) } else { None };
    let base = parser.at;
    let record_width = bytes.record_width(width);
    let second = base + bytes.record_size(record_width);
    let heads = [stream_head(bytes, base, record_width)?, stream_head(bytes, second, record_width)?];
    Ok(ChunkInfo { offset: at, width, last, declared, filter, base, heads })
}

/// Reads the first record of a stream.
fn stream_head(bytes: &Bytes, at: u64, width: Width) -> Result<Record, Error> {
    let record = bytes.record(at, width)?;
    if (record.tag, record.stored, record.plain) != (BackEnd::None.tag(), 0, 0) {
        let what = format!("a stream whose head is {} {} {}", record.tag, record.stored, record.plain);
        return Err(bytes.seal.nonsense(Error::corrupt(at, what, "3 0 0")));
    }
    Ok(record)
}

/// A parser of a chunk's head.
struct HeadParser<'a> {
    bytes: &'a Bytes,
    at: u64,
}

impl HeadParser<'_> {
    fn take<const N: usize>(&mut self, size: usize) -> Result<[u8; N], Error> {
        let mut all = [0; N];
        self.bytes.check(self.at, size as u64, "bytes of a chunk's head")?;
        self.bytes.read(self.at, &mut all[..size])?;
        self.at += size as u64;
        Ok(all)
    }

    fn width(&mut self) -> Result<Width, Error> {
        let [byte] = self.take(1)?;
        Width::new(byte).ok_or_else(|| Error::corrupt(self.at - 1, format!("a width of {byte} bytes"), "1 to 8"))
    }

    fn flag(&mut self) -> Result<bool, Error> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(Error::corrupt(self.at - 1, format!("{other} for the last chunk"), "0 or 1")),
        }
    }

    fn filter(&mut self) -> Result<Option<Filter>, Error> {
        let [tag] = self.take(1)?;
        Filter::of_chunk(tag).ok_or_else(|| Error::corrupt(self.at - 1, format!("filter {tag}"), "0, 1 or 2"))
    }

    fn number(&mut self, width: Width) -> Result<u64, Error> {
        self.take::<8>(width.bytes()).map(u64::from_le_bytes)
    }
}
