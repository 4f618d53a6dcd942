//! The order of blocks: all blocks of stream 0, then all blocks of stream 1. The record of each block points to the next record of its
//! stream.
//!
//! Nothing is overwritten, so that the output can be a pipe. Two fields refer to later data. A block's record points to the next record,
//! which directly follows the block. The first record of stream 1 points past the end of stream 0, so stream 0 is buffered until it is
//! compressed.

use packline_engine::Consumer;

use super::StreamSums;
use super::compress::{CompressTask, CompressedBlock};
use super::seal::{Salt, Seal};
use crate::format::{Record, Width};
use crate::spool::Spool;
use crate::{BackEnd, Error, Input, Sink};

/// Bytes copied at a time.
const PIECE: usize = 256 << 10;

/// A sink with a byte count.
pub(super) struct Output<'a> {
    sink: &'a mut dyn Sink,
    written: u64,
}

impl<'a> Output<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Output<'a> {
        Output { sink, written: 0 }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.written += bytes.len() as u64;
        self.sink.append(bytes).map_err(Error::Output)
    }

    /// Overwrites bytes, if the sink supports it.
    pub(super) fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<bool, Error> {
        self.sink.write_at(at, bytes).map_err(Error::Output)
    }

    /// The number of bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }
}

/// Writes the blocks of a chunk to the file.
pub(super) struct Layout<'a, 'b> {
    pub(super) out: &'a mut Output<'b>,
    pub(super) seal: Option<&'a Seal>,
    /// Width of the numbers in records.
    pub(super) width: Width,
    /// The data of stream 0, until it is complete.
    pub(super) kept: &'a mut Spool,
    /// The blocks of stream 0 that are buffered.
    pub(super) waiting: Vec<Waiting>,
    /// The number of blocks of each stream that are still to come.
    pub(super) left: [u64; 2],
    /// Offset of the next record from the first record.
    pub(super) position: u64,
    pub(super) sums: &'a mut [StreamSums; 2],
    /// Called with the number of the chunk's bytes that can be decoded from the blocks written so far.
    pub(super) progress: &'a mut dyn FnMut(u64),
}

/// A buffered block of stream 0.
pub(super) struct Waiting {
    about: About,
    size: usize,
}

/// The fields of a block's record, and the salt of the block's data.
#[derive(Clone, Copy)]
struct About {
    back_end: BackEnd,
    stored: u64,
    plain: u64,
    salt: Option<Salt>,
}

impl Layout<'_, '_> {
    /// The size of a record in the file, in bytes.
    fn record_size(&self) -> u64 {
        (self.seal.map_or(0, |_| size_of::<Salt>()) + Record::size(self.width)) as u64
    }

    /// The size of a block and its record in the file, in bytes.
    fn block_size(&self, about: &About, size: usize) -> u64 {
        self.record_size() + (about.salt.map_or(0, |salt| salt.len()) + size) as u64
    }

    fn record(&mut self, record: Record) -> Result<(), Error> {
        let mut bytes = Vec::new();
        record.encode(self.width, &mut bytes);
        if let Some(seal) = self.seal {
            let salt = seal.salt()?;
            seal.close(&mut bytes, salt);
            self.out.write(&salt)?;
        }
        self.out.write(&bytes)
    }

    /// Writes the first records of both streams, when all of stream 0 is buffered.
    fn heads(&mut self) -> Result<(), Error> {
        let first = 2 * self.record_size();
        let stream_0: u64 = self.waiting.iter().map(|waiting| self.block_size(&waiting.about, waiting.size)).sum();
        for next in [first, first + stream_0] {
            self.record(Record { tag: BackEnd::None.tag(), stored: 0, plain: 0, next })?;
        }
        self.position = first;
        Ok(())
    }

    /// Writes the record of the next block, whose data has `size` bytes, and the salt of that data.
    fn begin(&mut self, about: About, size: usize, is_last: bool) -> Result<(), Error> {
        self.position += self.block_size(&about, size);
        let next = if is_last { 0 } else { self.position };
        let About { back_end, stored, plain, salt } = about;
        self.record(Record { tag: back_end.tag(), stored, plain, next })?;
        salt.map_or(Ok(()), |salt| self.out.write(&salt))
    }

    /// Writes the buffered blocks of stream 0.
    fn release(&mut self) -> Result<(), Error> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut at = 0;
        for (index, block) in waiting.iter().enumerate() {
            self.begin(block.about, block.size, index + 1 == waiting.len())?;
            self.copy(at, block.size)?;
            at += block.size as u64;
        }
        self.kept.clear()
    }

    /// Writes a part of the buffered data.
    fn copy(&mut self, at: u64, size: usize) -> Result<(), Error> {
        let mut buffer = vec![0; size.min(PIECE)];
        let mut done = 0;
        while done < size {
            let now = &mut buffer[..(size - done).min(PIECE)];
            self.kept.read_at(at + done as u64, now).map_err(Error::Scratch)?;
            self.out.write(now)?;
            done += now.len();
        }
        Ok(())
    }

    fn opcodes(&mut self, about: About, bytes: &[u8]) -> Result<(), Error> {
        self.kept.append(bytes)?;
        self.waiting.push(Waiting { about, size: bytes.len() });
        if self.left[0] > 0 {
            return Ok(());
        }
        self.heads()?;
        self.release()
    }

    fn literals(&mut self, about: About, bytes: &[u8]) -> Result<(), Error> {
        self.begin(about, bytes.len(), self.left[1] == 0)?;
        self.out.write(bytes)
    }

    fn count(&mut self, compressed: &CompressedBlock) {
        let sums = &mut self.sums[compressed.from.stream];
        sums.blocks += 1;
        sums.raw_blocks += u64::from(compressed.back_end == BackEnd::None);
        sums.plain += compressed.plain;
        sums.stored += compressed.stored;
        self.left[compressed.from.stream] -= 1;
    }
}

impl Consumer<CompressTask> for Layout<'_, '_> {
    fn consume(&mut self, compressed: CompressedBlock) -> Result<(), Error> {
        self.count(&compressed);
        let CompressedBlock { back_end, stored, plain, salt, ref bytes, from, .. } = compressed;
        let about = About { back_end, stored, plain, salt };
        match from.stream {
            0 => self.opcodes(about, bytes)?,
            _ => self.literals(about, bytes)?,
        }
        (self.progress)(from.reached);
        Ok(())
    }
}
