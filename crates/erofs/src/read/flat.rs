//! Content in consecutive blocks, whose last part may follow the inode.

use std::sync::Arc;

use packline_volume::{Missing, PLAIN, Piece, Pieces, ReadError, Unit};

use super::data::DataPlace;
use super::store::Store;
use crate::format::corrupt;
use crate::format::inode::{Layout, NOT_STORED};

/// Most bytes of a plain unit. Content that is not compressed is read in units that start at multiples of this size.
pub(crate) const PLAIN_BYTES: u64 = 128 << 10;

/// Returns a plain unit of stored bytes.
pub(super) fn plain(offset: u64, length: u64) -> Unit {
    Unit { offset, stored: length as u32, length: length as u32, form: PLAIN }
}

/// Returns all of a plain unit.
pub(super) fn whole(unit: Unit) -> Piece {
    Piece::Own { unit, start: 0, length: unit.length }
}

#[derive(Debug, Clone)]
pub(super) struct FlatPieces {
    store: Arc<Store>,
    block_bits: u8,
    place: DataPlace,
    /// Bytes in blocks.
    in_blocks: u64,
    /// Offset of the next piece.
    at: u64,
}

impl FlatPieces {
    pub(super) fn new(store: &Arc<Store>, block_bits: u8, place: &DataPlace, from: u64) -> FlatPieces {
        let DataPlace { layout, size, .. } = *place;
        let in_blocks = if layout == Layout::Inline { blocks_of_inline(size, block_bits) } else { size };
        let first = if from < in_blocks { from - from % PLAIN_BYTES } else { in_blocks };
        let at = if place.start == NOT_STORED { 0 } else { first.min(size) };
        FlatPieces { store: Arc::clone(store), block_bits, place: *place, in_blocks, at }
    }

    fn piece(&self) -> Result<Piece, Missing> {
        let DataPlace { start, size, .. } = self.place;
        if start == NOT_STORED {
            return Ok(Piece::Hole { length: size - self.at });
        }
        if self.at >= self.in_blocks {
            return self.inline().map_err(|error| Missing { length: size - self.at, error });
        }
        let left = self.in_blocks - self.at;
        let length = left.min(PLAIN_BYTES - self.at % PLAIN_BYTES);
        let regions = self.store.regions();
        let address = regions.address_of(start, 0).saturating_add(self.at);
        regions.check(address, length, "content").map_err(|error| Missing { length: left, error })?;
        Ok(whole(plain(address, length)))
    }

    /// The part after the inode, which must end in the block in which it starts.
    fn inline(&self) -> Result<Piece, ReadError> {
        let length = self.place.size - self.at;
        let block = 1 << self.block_bits;
        let before = self.place.end % block;
        if before + length > block {
            let what = format!("inline content of {length} bytes at {before} of its block");
            return Err(corrupt(self.place.end, what, format!("an end at {block} at most")));
        }
        Ok(whole(plain(self.place.end, length)))
    }
}

/// Returns the bytes of inline content that are in blocks: all blocks but the last one.
pub(super) fn blocks_of_inline(size: u64, block_bits: u8) -> u64 {
    size.div_ceil(1 << block_bits).saturating_sub(1) << block_bits
}

impl Pieces for FlatPieces {
    fn next_piece(&mut self) -> Option<Result<Piece, Missing>> {
        if self.at >= self.place.size {
            return None;
        }
        let piece = self.piece();
        self.at += piece.as_ref().map_or_else(|missing| missing.length, Piece::length);
        Some(piece)
    }

    fn offset(&self) -> u64 {
        self.at
    }

    fn boxed_clone(&self) -> Box<dyn Pieces> {
        Box::new(self.clone())
    }
}
