//! Submits chunks of NEW to the workers, and writes them in order.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::{Consumer, OrderedMap, Pool};
use packline_runtime::{Input, Resources, Sink, of_fault};

use super::chunk::{Chunk, ChunkTask, FinishedChunk};
use super::codec::BlockCodec;
use super::source::Source;
use crate::format::recipe::BlockKind;
use crate::passes::Passes;
use crate::plain::Plain;
use crate::{Error, Head};

/// Bytes of a chunk that is not a block.
pub(super) const CHUNK: u64 = 256 << 10;
/// Upper bound for the sources of a chunk.
pub(super) const SOURCES_MOST: usize = 1 << 16;

/// Submits chunks, and writes them in order.
pub(super) struct ChunkWriter<'p> {
    map: OrderedMap<ChunkTask>,
    submitted: u64,
    out: Output<'p>,
}

impl<'p> ChunkWriter<'p> {
    /// Starts the map, with at most `window` bytes in flight.
    pub(super) fn new(
        pool: &Pool,
        old: Arc<dyn Input>,
        plain: &Plain,
        codec: Option<BlockCodec>,
        window: usize,
        resources: &Resources,
        out: Output<'p>,
    ) -> ChunkWriter<'p> {
        let task = ChunkTask { old, plain: Arc::clone(&plain.input), codec };
        ChunkWriter { map: resources.map_on(pool, task, window), submitted: 0, out }
    }

    /// Upper bound for the memory of a chunk in bytes: its plain bytes, its encoded bytes and its sources.
    pub(super) fn memory_most(codec: Option<&BlockCodec>) -> u64 {
        let largest = codec.map_or(0, |codec| codec.largest() as u64).max(CHUNK);
        2 * largest + (SOURCES_MOST * size_of::<Source>()) as u64
    }

    /// Submits `length` bytes from these sources. The bytes are a block if they are encoded.
    pub(super) fn submit(&mut self, sources: Vec<Source>, length: u64, encode: Option<BlockKind>) -> Result<(), Error> {
        let length = length as usize;
        let bytes = 2 * length + sources.len() * size_of::<Source>();
        let permit = self.map.reserve(bytes, &mut self.out).map_err(of_fault)?;
        self.submitted += 1;
        self.map.submit(Chunk { sources, length, encode, permit }, &mut self.out).map_err(of_fault)
    }

    /// Submits bytes of OLD as they are stored.
    pub(super) fn stored(&mut self, range: Range<u64>) -> Result<(), Error> {
        for at in range.clone().step_by(CHUNK as usize) {
            let chunk = at..range.end.min(at + CHUNK);
            let length = chunk.end - chunk.start;
            self.submit(vec![Source::Stored(chunk)], length, None)?;
        }
        Ok(())
    }

    /// Waits until one more chunk is written. Returns false if all chunks are written.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        if self.submitted == self.out.chunks {
            return Ok(false);
        }
        self.map.advance(&mut self.out).map_err(of_fault)?;
        Ok(true)
    }

    /// Writes all chunks in flight.
    pub(super) fn drain(&mut self) -> Result<(), Error> {
        self.map.drain(&mut self.out).map_err(of_fault)
    }

    /// Returns the earliest error: the error of a chunk in flight, or otherwise `error`.
    pub(super) fn earliest_error(&mut self, error: Error) -> Error {
        of_fault(self.map.earlier_error(&mut self.out, error))
    }

    /// Checks that all of NEW was written.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if NEW does not have the length and hash in the head.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.out.check()
    }
}

/// Writes the chunks.
pub(super) struct Output<'o> {
    sink: &'o mut dyn Sink,
    passes: Passes<'o>,
    hasher: blake3::Hasher,
    head: Head,
    written: u64,
    /// The number of chunks written.
    pub(super) chunks: u64,
}

impl<'o> Output<'o> {
    pub(super) fn new(head: Head, sink: &'o mut dyn Sink, mut passes: Passes<'o>) -> Output<'o> {
        passes.begin("writing", head.new.size);
        Output { sink, passes, hasher: blake3::Hasher::new(), head, written: 0, chunks: 0 }
    }

    /// Checks that all of NEW was written.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if NEW does not have the length and hash in the head.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.written == self.head.new.size && *self.hasher.finalize().as_bytes() == self.head.new.hash {
            return Ok(());
        }
        let what = format!("the delta produces {} bytes that are not the new file", self.written);
        Err(Error::corrupt(0, what, "the length and hash in the head"))
    }
}

impl Consumer<ChunkTask> for Output<'_> {
    fn consume(&mut self, made: FinishedChunk) -> Result<(), Error> {
        let length = made.bytes.len() as u64;
        if length > self.head.new.size - self.written {
            let what = format!("the delta produces more than {} bytes", self.head.new.size);
            return Err(Error::corrupt(0, what, "the length in the head"));
        }
        self.hasher.update(&made.bytes);
        self.sink.append(&made.bytes).map_err(Error::Output)?;
        self.written += length;
        self.chunks += 1;
        self.passes.show(self.written);
        Ok(())
    }
}
