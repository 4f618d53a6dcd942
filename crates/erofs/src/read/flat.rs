//! Content in consecutive blocks, whose last part may follow the inode.

use std::sync::Arc;

use packline_volume::{Missing, PLAIN, Piece, ReadError, Unit};

use super::data::DataPlace;
use super::sequence::{PieceSource, SourcePieces};
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

/// Content in consecutive blocks.
#[derive(Debug, Clone)]
pub(super) struct Flat {
    store: Arc<Store>,
    block_bits: u8,
    place: DataPlace,
    /// Bytes in blocks.
    in_blocks: u64,
}

impl Flat {
    /// Returns the pieces, beginning with the one that has byte `from`.
    pub(super) fn pieces(store: &Arc<Store>, block_bits: u8, place: &DataPlace, from: u64) -> SourcePieces<Flat> {
        let DataPlace { layout, size, .. } = *place;
        let in_blocks = if layout == Layout::Inline { blocks_of_inline(size, block_bits) } else { size };
        let first = if from < in_blocks { from - from % PLAIN_BYTES } else { in_blocks };
        let at = if place.start == NOT_STORED { 0 } else { first.min(size) };
        SourcePieces { source: Flat { store: Arc::clone(store), block_bits, place: *place, in_blocks }, at }
    }

    /// The part from `at` on, which is after the inode and must end in the block in which it starts.
    fn inline(&self, at: u64) -> Result<Piece, ReadError> {
        let length = self.place.size - at;
        let block = 1 << self.block_bits;
        let before = self.place.end % block;
        if before + length > block {
            let what = format!("inline content of {length} bytes at {before} of its block");
            return Err(corrupt(self.place.end, what, format!("an end at {block} at most")));
        }
        Ok(whole(plain(self.place.end, length)))
    }
}

impl PieceSource for Flat {
    fn size(&self) -> u64 {
        self.place.size
    }

    fn piece(&mut self, at: u64) -> Result<Piece, Missing> {
        let DataPlace { start, size, .. } = self.place;
        if start == NOT_STORED {
            return Ok(Piece::Hole { length: size - at });
        }
        if at >= self.in_blocks {
            return self.inline(at).map_err(|error| Missing { length: size - at, error });
        }
        let left = self.in_blocks - at;
        let length = left.min(PLAIN_BYTES - at % PLAIN_BYTES);
        let regions = self.store.regions();
        let address = regions.address_of(start, 0).saturating_add(at);
        regions.check(address, length, "content").map_err(|error| Missing { length: left, error })?;
        Ok(whole(plain(address, length)))
    }
}

/// Returns the bytes of inline content that are in blocks: all blocks but the last one.
pub(crate) fn blocks_of_inline(size: u64, block_bits: u8) -> u64 {
    size.div_ceil(1 << block_bits).saturating_sub(1) << block_bits
}
