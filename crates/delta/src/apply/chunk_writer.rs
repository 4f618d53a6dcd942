//! Submits chunks of NEW to the workers, and writes them in order.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::{OrderedMap, Pool};
use packline_runtime::{Input, Resources, of_fault};

use super::chunk::{Chunk, ChunkTask};
use super::codec::BlockCodec;
use super::output::Output;
use super::source::Source;
use crate::Error;
use crate::format::recipe::BlockKind;
use crate::plain::Plain;

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
