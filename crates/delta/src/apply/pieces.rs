//! Pieces of NEW on their way through the workers to the output.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::{OrderedMap, Pool};
use packline_runtime::{Input, Resources, of_fault};

use super::codec::BlockCodec;
use super::output::Output;
use super::piece::{Piece, PieceTask};
use super::source::Source;
use crate::Error;
use crate::format::recipe::BlockKind;
use crate::plain::Plain;

/// Bytes of a piece that is not a block.
pub(super) const PIECE: u64 = 256 << 10;
/// Most sources of a piece.
pub(super) const SOURCES_MOST: usize = 1 << 16;

/// Submits pieces and writes them in order.
pub(super) struct Pieces<'p> {
    map: OrderedMap<PieceTask>,
    submitted: u64,
    out: Output<'p>,
}

impl<'p> Pieces<'p> {
    /// With at most `window` bytes in flight.
    pub(super) fn new(
        pool: &Pool,
        old: Arc<dyn Input>,
        plain: &Plain,
        codec: Option<BlockCodec>,
        window: usize,
        resources: &Resources,
        out: Output<'p>,
    ) -> Pieces<'p> {
        let task = PieceTask { old, plain: Arc::clone(&plain.input), codec };
        Pieces { map: resources.map_on(pool, task, window), submitted: 0, out }
    }

    /// Upper bound of the memory of a piece, bytes: what it is made of, what it becomes, and its sources.
    pub(super) fn memory_most(codec: Option<&BlockCodec>) -> u64 {
        let largest = codec.map_or(0, |codec| codec.largest() as u64).max(PIECE);
        2 * largest + (SOURCES_MOST * size_of::<Source>()) as u64
    }

    /// Submits `length` bytes from these sources, which are a block if they are encoded.
    pub(super) fn submit(&mut self, sources: Vec<Source>, length: u64, encode: Option<BlockKind>) -> Result<(), Error> {
        let length = length as usize;
        let bytes = 2 * length + sources.len() * size_of::<Source>();
        let permit = self.map.reserve(bytes, &mut self.out).map_err(of_fault)?;
        self.submitted += 1;
        self.map.submit(Piece { sources, length, encode, permit }, &mut self.out).map_err(of_fault)
    }

    /// Submits bytes of OLD as they are stored.
    pub(super) fn stored(&mut self, range: Range<u64>) -> Result<(), Error> {
        for at in range.clone().step_by(PIECE as usize) {
            let piece = at..range.end.min(at + PIECE);
            let length = piece.end - piece.start;
            self.submit(vec![Source::Stored(piece)], length, None)?;
        }
        Ok(())
    }

    /// Waits until one more piece is written; false if all are.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        if self.submitted == self.out.pieces {
            return Ok(false);
        }
        self.map.advance(&mut self.out).map_err(of_fault)?;
        Ok(true)
    }

    /// Writes all pieces in flight.
    pub(super) fn drain(&mut self) -> Result<(), Error> {
        self.map.drain(&mut self.out).map_err(of_fault)
    }

    /// The earlier error: that of a piece in flight, or this one.
    pub(super) fn first(&mut self, error: Error) -> Error {
        of_fault(self.map.earlier_error(&mut self.out, error))
    }

    /// Checks that all of NEW was written.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not what the delta was made from.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.out.check()
    }
}
