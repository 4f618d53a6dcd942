//! Content in chunks of equal size, whose positions follow the inode.

use std::sync::Arc;

use packline_volume::{Missing, Piece, Pieces, ReadError};

use super::data::DataPlace;
use super::flat::{PLAIN_BYTES, plain, whole};
use super::span::Cursor;
use super::store::Store;
use crate::format::chunk::{ChunkFormat, ChunkStart};

#[derive(Debug, Clone)]
pub(super) struct ChunkPieces {
    store: Arc<Store>,
    format: ChunkFormat,
    /// Address of the first entry.
    entries: u64,
    cursor: Cursor,
    size: u64,
    /// Offset of the next piece.
    at: u64,
}

impl ChunkPieces {
    /// Starts with the part of a chunk that has byte `from`.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the format is not known.
    pub(super) fn new(
        store: &Arc<Store>,
        block_bits: u8,
        place: &DataPlace,
        from: u64,
    ) -> Result<ChunkPieces, ReadError> {
        let format = ChunkFormat::decode(place.start, block_bits, place.end)?;
        let entries = place.end.next_multiple_of(format.entry_bytes());
        let granule = (1u64 << format.bits).min(PLAIN_BYTES);
        let at = (from - from % granule).min(place.size);
        Ok(ChunkPieces {
            store: Arc::clone(store),
            format,
            entries,
            cursor: store.cursor(entries),
            size: place.size,
            at,
        })
    }

    /// Returns the start of the chunk with a byte; `None` for a hole.
    fn start_of(&mut self, offset: u64) -> Result<Option<ChunkStart>, ReadError> {
        let number = offset >> self.format.bits;
        // The file has fewer than 2^54 chunks, because a chunk has at least 512 bytes.
        self.cursor.seek(self.entries.saturating_add(number * self.format.entry_bytes()));
        if self.format.indexes {
            return Ok(self.format.index(self.cursor.read_u64()?));
        }
        Ok(ChunkFormat::block_number(self.cursor.read_u32()?))
    }

    /// Returns the length of the chunk that starts at an offset, up to the end of the file's last block, and the start of the chunk; `None` for
    /// a hole.
    ///
    /// # Errors
    /// Errors of reading the entry.
    pub(super) fn chunk(&mut self, offset: u64) -> Result<(u64, Option<ChunkStart>), ReadError> {
        let left = (self.size - offset).next_multiple_of(1 << self.store.regions().block_bits());
        Ok((left.min(1 << self.format.bits), self.start_of(offset)?))
    }

    /// Returns the end in the file of the chunk with a byte.
    fn end_of(&self, offset: u64) -> u64 {
        let next = (offset >> self.format.bits) + 1;
        next.checked_mul(1 << self.format.bits).map_or(self.size, |end| end.min(self.size))
    }

    /// Returns the address of a part of a chunk that is not a hole, if it is stored.
    fn address(&self, start: ChunkStart, offset: u64, length: u64) -> Result<u64, ReadError> {
        let regions = self.store.regions();
        let within = offset & ((1 << self.format.bits) - 1);
        let address = regions.chunk(start, self.entries)?.saturating_add(within);
        regions.check(address, length, "chunk")?;
        Ok(address)
    }

    fn piece(&mut self) -> Result<Piece, Missing> {
        let start = match self.start_of(self.at) {
            Ok(start) => start,
            // The entries after this one are not readable either.
            Err(error) => return Err(Missing { length: self.size - self.at, error }),
        };
        let in_chunk = self.end_of(self.at) - self.at;
        let Some(start) = start else { return Ok(Piece::Hole { length: in_chunk }) };
        let most = PLAIN_BYTES - self.at % PLAIN_BYTES;
        let length = in_chunk.min(most);
        let address = match self.address(start, self.at, length) {
            Ok(address) => address,
            Err(error) => return Err(Missing { length: in_chunk, error }),
        };
        Ok(whole(plain(address, self.joined(address, length, most))))
    }

    /// Returns the length of a part and of the chunks that follow it in the file and in the image.
    fn joined(&mut self, address: u64, mut length: u64, most: u64) -> u64 {
        while length < most && self.at + length < self.size {
            let next = self.at + length;
            let further = (self.end_of(next) - next).min(most - length);
            let Ok(Some(start)) = self.start_of(next) else { break };
            if self.address(start, next, further).ok() != Some(address + length) {
                break;
            }
            // Both parts are on one input: otherwise the second one could not be read with the first one.
            if self.store.regions().check(address, length + further, "chunk").is_err() {
                break;
            }
            length += further;
        }
        length
    }
}

impl Pieces for ChunkPieces {
    fn next_piece(&mut self) -> Option<Result<Piece, Missing>> {
        if self.at >= self.size {
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
