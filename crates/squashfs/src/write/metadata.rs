//! Metadata streams: entries are cut into blocks of 8 KiB, compressed by the workers, and returned in order.
//!
//! A metadata block is a little-endian u16 header and its payload. Bits 0 to 14 of the header are the payload's length; bit 15 is set if the
//! payload is stored. Every block of a table except the last contains exactly 8192 bytes. Other tables refer to an entry by the offset of its
//! block's header from the start of the table, and its offset in the raw block.
//!
//! Several streams can be open at once. They share one window of blocks in flight. A caller waits for the start of a block only when it needs the
//! start, so workers compress one table while the caller builds entries of the next.

use std::collections::VecDeque;

use packline_blocks::{Form, Hashes, Part, Written, hash, write};
use packline_codec::METADATA_BLOCK_SIZE;
use packline_runtime::TaskError;

use crate::{Error, Sink};

/// Blocks in flight before some are collected: 2 MiB of raw metadata, enough to keep 64 workers busy.
const WINDOW: usize = 256;
/// Longest block of the format: header and a stored payload.
const LONGEST: usize = METADATA_BLOCK_SIZE + 2;

/// Compresses metadata blocks in parallel and returns them in order.
pub trait MetadataCompressor {
    /// Submits one raw metadata block of 1 to 8192 bytes. `stored` asks for no compression.
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error>;
    /// Waits for the next finished block, in the order of submission, and returns it with its 2-byte header. `None` when all submitted blocks
    /// have been returned.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error>;
    /// Returns the number of submitted blocks that are not yet returned. The caller limits the number.
    fn pending(&self) -> usize;
}

/// A position in a stream: raw bytes from its start.
pub(crate) type Position = u64;

/// Identifies a stream of one [`Metadata`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamId(usize);

/// Destination of the finished blocks of a stream.
#[derive(Debug)]
pub(crate) enum Destination {
    /// The sink, with the first block at this offset.
    Sink(u64),
    /// Memory, until the stream is closed.
    Held(Vec<u8>),
}

/// A stream that has ended.
#[derive(Debug)]
pub(crate) struct Closed {
    /// Starts of the blocks, bytes from the start of the table; the last element is the table's length.
    pub(crate) starts: Vec<u64>,
    /// The table itself, if it was held in memory.
    pub(crate) held: Vec<u8>,
    /// Blocks of the table with their offsets in it, if they are recorded.
    parts: Written,
}

impl Closed {
    /// Length of the table in the image in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the starts of the blocks, without the table's end.
    pub(crate) fn blocks(&self) -> &[u64] {
        &self.starts[..self.starts.len().saturating_sub(1)]
    }

    /// Returns the reference to an entry: its block's start, shifted left by 16, and its offset in the block.
    pub(crate) fn reference(&self, position: Position) -> u64 {
        reference(self.starts[block_of(position)], position)
    }
}

/// Combines the start of a block and an offset in it.
pub(crate) fn reference(start: u64, position: Position) -> u64 {
    start << 16 | u64::from(offset_of(position))
}

/// Returns the index of the block that contains a position.
pub(crate) fn block_of(position: Position) -> usize {
    (position / METADATA_BLOCK_SIZE as u64) as usize
}

/// Returns the offset in bytes of a position in its block.
pub(crate) fn offset_of(position: Position) -> u16 {
    (position % METADATA_BLOCK_SIZE as u64) as u16
}

struct Stream {
    destination: Destination,
    stored: bool,
    raw: Vec<u8>,
    submitted: usize,
    starts: Vec<u64>,
    /// Blocks that are held in memory.
    parts: Written,
}

impl Stream {
    fn position(&self) -> Position {
        (self.submitted * METADATA_BLOCK_SIZE + self.raw.len()) as u64
    }

    fn length(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }
}

/// All metadata streams of an image that is being written.
pub(crate) struct Metadata<'a> {
    compressor: &'a mut dyn MetadataCompressor,
    sink: &'a mut dyn Sink,
    streams: Vec<Stream>,
    /// Streams of the submitted blocks, and the hashes of their content.
    in_flight: VecDeque<(StreamId, u64)>,
    written: Written,
}

impl<'a> Metadata<'a> {
    pub(crate) fn new(compressor: &'a mut dyn MetadataCompressor, sink: &'a mut dyn Sink) -> Metadata<'a> {
        Metadata { compressor, sink, streams: Vec::new(), in_flight: VecDeque::new(), written: Written::default() }
    }

    /// Adds all parts that are written to `written`.
    pub(crate) fn recording(self, written: Written) -> Metadata<'a> {
        Metadata { written, ..self }
    }

    pub(crate) fn into_written(self) -> Written {
        self.written
    }

    /// Opens a stream; with `stored` its blocks are not compressed.
    pub(crate) fn open(&mut self, destination: Destination, stored: bool) -> StreamId {
        let raw = Vec::with_capacity(METADATA_BLOCK_SIZE);
        let parts = Written::new(self.written.records());
        self.streams.push(Stream { destination, stored, raw, submitted: 0, starts: vec![0], parts });
        StreamId(self.streams.len() - 1)
    }

    /// Returns the position of the next byte of a stream.
    pub(crate) fn position(&self, id: StreamId) -> Position {
        self.streams[id.0].position()
    }

    /// Appends to a stream.
    pub(crate) fn put(&mut self, id: StreamId, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let raw = &mut self.streams[id.0].raw;
            let (now, later) = bytes.split_at(bytes.len().min(METADATA_BLOCK_SIZE - raw.len()));
            raw.extend_from_slice(now);
            bytes = later;
            if raw.len() == METADATA_BLOCK_SIZE {
                self.submit(id)?;
            }
        }
        Ok(())
    }

    /// Returns the start of the block that contains or would contain `position`, bytes from the start of the table. Waits for the blocks before
    /// it.
    pub(crate) fn start_of(&mut self, id: StreamId, position: Position) -> Result<u64, Error> {
        let block = block_of(position);
        while self.streams[id.0].starts.len() <= block {
            self.settle_one()?;
        }
        Ok(self.streams[id.0].starts[block])
    }

    /// Submits the last, short block of a stream and waits for all blocks of the stream.
    pub(crate) fn close(&mut self, id: StreamId) -> Result<Closed, Error> {
        if !self.streams[id.0].raw.is_empty() {
            self.submit(id)?;
        }
        while self.streams[id.0].starts.len() <= self.streams[id.0].submitted {
            self.settle_one()?;
        }
        let stream = &mut self.streams[id.0];
        let held = match &mut stream.destination {
            Destination::Sink(_) => Vec::new(),
            Destination::Held(blocks) => std::mem::take(blocks),
        };
        Ok(Closed { starts: std::mem::take(&mut stream.starts), held, parts: std::mem::take(&mut stream.parts) })
    }

    /// Writes bytes that are not a metadata block to the sink.
    pub(crate) fn write_plain(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.written.add_plain(offset, bytes);
        write(self.sink, offset, bytes)
    }

    /// Writes a table that was held in memory.
    pub(crate) fn write_held(&mut self, offset: u64, table: &mut Closed) -> Result<(), Error> {
        for part in std::mem::take(&mut table.parts).into_parts().unwrap_or_default() {
            self.written.add(Part { start: offset + part.start, ..part });
        }
        write(self.sink, offset, &table.held)
    }

    fn submit(&mut self, id: StreamId) -> Result<(), Error> {
        let stream = &mut self.streams[id.0];
        let raw = std::mem::replace(&mut stream.raw, Vec::with_capacity(METADATA_BLOCK_SIZE));
        stream.submitted += 1;
        let content = if self.written.records() { hash(&raw) } else { 0 };
        self.compressor.submit(raw, stream.stored)?;
        self.in_flight.push_back((id, content));
        while self.compressor.pending() >= WINDOW {
            self.settle_one()?;
        }
        Ok(())
    }

    /// Collects the next finished block and writes it to its destination.
    fn settle_one(&mut self) -> Result<(), Error> {
        let (id, content, block) = match (self.in_flight.pop_front(), self.compressor.next()?) {
            (Some((id, content)), Some(block)) => (id, content, block),
            _ => return Err(Error::internal("a metadata block that was submitted never came back".into())),
        };
        check(&block)?;
        let stream = &mut self.streams[id.0];
        let start = stream.length();
        let stored = if self.written.records() { hash(&block) } else { 0 };
        let form = Form::Metadata;
        let hashes = Hashes { stored, content };
        let part = Part { start, length: block.len() as u32, form, hashes };
        match &mut stream.destination {
            Destination::Sink(base) => {
                write(self.sink, *base + start, &block)?;
                self.written.add(Part { start: *base + start, ..part });
            }
            Destination::Held(blocks) => {
                blocks.extend_from_slice(&block);
                stream.parts.add(part);
            }
        }
        stream.starts.push(start + block.len() as u64);
        Ok(())
    }
}

/// Checks the length of a block: a wrong length would make the image unreadable.
fn check(block: &[u8]) -> Result<(), Error> {
    let stated = match block {
        [low, high, ..] => usize::from(u16::from_le_bytes([*low, *high]) & 0x7fff),
        _ => 0,
    };
    if stated == 0 || block.len() != stated + 2 || block.len() > LONGEST {
        let found = format!("a metadata block of {} bytes whose header says {stated}", block.len());
        return Err(Error::internal(found));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Stores every block, and returns it on request.
    #[derive(Default)]
    pub(crate) struct Storing(VecDeque<Vec<u8>>);

    impl MetadataCompressor for Storing {
        fn submit(&mut self, raw: Vec<u8>, _stored: bool) -> Result<(), Error> {
            let header = (raw.len() as u16 | 1 << 15).to_le_bytes();
            self.0.push_back([&header[..], &raw].concat());
            Ok(())
        }

        fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
            Ok(self.0.pop_front())
        }

        fn pending(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn a_stream_is_cut_into_blocks() {
        let mut compressor = Storing::default();
        let mut sink = Vec::new();
        let mut out = Metadata::new(&mut compressor, &mut sink);
        let table = out.open(Destination::Sink(10), false);
        out.put(table, &[1; 8000]).unwrap();
        out.put(table, &[2; 8384]).unwrap();
        assert_eq!(out.position(table), 16_384);
        assert_eq!(out.start_of(table, 16_384).unwrap(), 2 * 8194);
        out.put(table, &[3]).unwrap();
        let closed = out.close(table).unwrap();
        assert_eq!(closed.blocks(), [0, 8194, 16_388]);
        assert_eq!(closed.length(), 16_391);
        assert_eq!(closed.reference(8192 + 5), 8194 << 16 | 5);
        assert_eq!(sink.len(), 10 + 16_391);
        assert_eq!(&sink[10..13], b"\x00\xa0\x01");
        assert_eq!(&sink[16_398..], b"\x01\x80\x03");
    }

    #[test]
    fn streams_share_the_compressor_and_do_not_mix() {
        let mut compressor = Storing::default();
        let mut sink = Vec::new();
        let mut out = Metadata::new(&mut compressor, &mut sink);
        let one = out.open(Destination::Sink(0), false);
        let two = out.open(Destination::Held(Vec::new()), false);
        for _ in 0..600 {
            out.put(one, &[1; 8192]).unwrap();
            out.put(two, &[2; 4096]).unwrap();
        }
        let first = out.close(one).unwrap();
        let second = out.close(two).unwrap();
        assert_eq!((first.length(), second.length()), (600 * 8194, 300 * 8194));
        assert!(first.held.is_empty() && sink.chunks(8194).all(|block| block[2..].iter().all(|byte| *byte == 1)));
        assert!(second.held.chunks(8194).all(|block| block[2..].iter().all(|byte| *byte == 2)));
    }

    #[test]
    fn an_empty_stream_is_an_empty_table() {
        let mut compressor = Storing::default();
        let mut sink = Vec::new();
        let mut out = Metadata::new(&mut compressor, &mut sink);
        let table = out.open(Destination::Sink(0), false);
        assert_eq!(out.start_of(table, 0).unwrap(), 0);
        let closed = out.close(table).unwrap();
        assert_eq!((closed.length(), closed.blocks().len()), (0, 0));
    }

    #[test]
    fn rejects_blocks_of_invalid_length() {
        for block in [&b""[..], b"\x01", b"\0\0", b"\x02\x80\0", b"\x01\x80\0\0", &[0xff; 8195]] {
            assert!(check(block).is_err(), "{block:?}");
        }
        assert!(check(b"\x02\x80\0\0").is_ok() && check(b"\x02\x00\0\0").is_ok());
    }
}
