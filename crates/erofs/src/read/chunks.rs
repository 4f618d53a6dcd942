//! Content in chunks of equal size, whose positions follow the inode.

use std::ops::Range;
use std::sync::Arc;

use packline_volume::{Missing, Piece, ReadError};

use super::data::DataPlace;
use super::flat::{PLAIN_BYTES, plain, whole};
use super::sequence::{PieceSource, SourcePieces};
use super::span::Cursor;
use super::store::Store;
use crate::format::chunk::{ChunkFormat, ChunkStart};

/// Returns the addresses of the entries of chunked content.
///
/// # Errors
/// [`ReadError::Corrupt`] if the format is not known.
pub(crate) fn entries(place: &DataPlace, block_bits: u8) -> Result<Range<u64>, ReadError> {
    let format = ChunkFormat::decode(place.start, block_bits, place.end)?;
    let start = place.end.next_multiple_of(format.entry_bytes());
    // The file has fewer than 2^54 chunks, because a chunk has at least 512 bytes.
    Ok(start..start.saturating_add(place.size.div_ceil(1 << format.bits) * format.entry_bytes()))
}

/// Content in chunks.
#[derive(Debug, Clone)]
pub(super) struct Chunks {
    store: Arc<Store>,
    format: ChunkFormat,
    /// Address of the first entry.
    entries: u64,
    cursor: Cursor,
    size: u64,
}

impl Chunks {
    /// # Errors
    /// [`ReadError::Corrupt`] if the format is not known.
    pub(super) fn new(store: &Arc<Store>, block_bits: u8, place: &DataPlace) -> Result<Chunks, ReadError> {
        let format = ChunkFormat::decode(place.start, block_bits, place.end)?;
        let entries = entries(place, block_bits)?.start;
        let cursor = store.cursor(entries);
        Ok(Chunks { store: Arc::clone(store), format, entries, cursor, size: place.size })
    }

    /// Returns the pieces, beginning with the part of a chunk that has byte `from`.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the format is not known.
    pub(super) fn pieces(
        store: &Arc<Store>,
        block_bits: u8,
        place: &DataPlace,
        from: u64,
    ) -> Result<SourcePieces<Chunks>, ReadError> {
        let source = Chunks::new(store, block_bits, place)?;
        let granule = (1u64 << source.format.bits).min(PLAIN_BYTES);
        let at = (from - from % granule).min(place.size);
        Ok(SourcePieces { source, at })
    }

    /// Returns the start of the chunk with a byte; `None` for a hole.
    fn start_of(&mut self, offset: u64) -> Result<Option<ChunkStart>, ReadError> {
        let number = offset >> self.format.bits;
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

    /// Returns the length of a part and of the chunks that follow it in the file and in the image.
    fn joined(&mut self, at: u64, address: u64, most: u64) -> u64 {
        let mut length = (self.end_of(at) - at).min(most);
        while length < most && at + length < self.size {
            let next = at + length;
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

impl PieceSource for Chunks {
    fn size(&self) -> u64 {
        self.size
    }

    fn piece(&mut self, at: u64) -> Result<Piece, Missing> {
        let start = match self.start_of(at) {
            Ok(start) => start,
            // The entries after this one are not readable either.
            Err(error) => return Err(Missing { length: self.size - at, error }),
        };
        let in_chunk = self.end_of(at) - at;
        let Some(start) = start else { return Ok(Piece::Hole { length: in_chunk }) };
        let most = PLAIN_BYTES - at % PLAIN_BYTES;
        match self.address(start, at, in_chunk.min(most)) {
            Ok(address) => Ok(whole(plain(address, self.joined(at, address, most)))),
            Err(error) => Err(Missing { length: in_chunk, error }),
        }
    }
}
