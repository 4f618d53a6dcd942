//! Content on a device: chunks of equal size, each at any block of the device.

use packline_blocks::Error;

use super::chunking::{Survey, for_each_chunk};
use super::{Buffered, Content, Piece, Stored, check_size};
use crate::format::chunk::{ChunkFormat, INDEX_BYTES};

/// Number of the device.
const DEVICE: u16 = 1;
/// Most chunks of a file with holes or shared parts: their indexes take 1 GiB. The size of a hole is only a number in a tar.
const CHUNKS_MOST: u64 = 1 << 27;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunksPlan {
    /// Logarithm of the size of a block in bytes.
    block_bits: u8,
    /// Logarithm of the blocks of a chunk.
    bits: u8,
}

impl ChunksPlan {
    /// Chooses the largest chunks whose bytes follow one another on the device.
    ///
    /// # Errors
    /// [`Error::Limit`] if a piece does not start at a block of the file and of the device, if its block number has more than 32 bits, or for too
    /// many chunks.
    pub(super) fn new(
        block_bits: u8,
        content: Content,
        pieces: impl Iterator<Item = Piece>,
    ) -> Result<ChunksPlan, Error> {
        let mut plan = ChunksPlan { block_bits, bits: 0 };
        let survey = Survey::of(pieces, |piece| plan.start_of(piece))?;
        check_size(content, survey.size)?;
        if survey.breaks % plan.block() != 0 {
            return Err(plan.misplaced("parts of a sparse file"));
        }
        plan.bits = survey.chunk_bits(content.size, block_bits);
        let chunks = content.size.div_ceil(plan.block() << plan.bits);
        if survey.breaks != 0 && chunks > CHUNKS_MOST {
            let what = format!("a sparse file of {chunks} chunks of {} bytes", plan.block() << plan.bits);
            return Err(Error::Limit { what, expected: format!("at most {CHUNKS_MOST} chunks") });
        }
        Ok(plan)
    }

    /// Returns the start in the inode.
    pub(super) fn start(self) -> u64 {
        ChunkFormat::of_indexes(self.bits)
    }

    pub(super) fn end(self, head: u64, size: u64) -> u64 {
        let entry = INDEX_BYTES as u64;
        head.next_multiple_of(entry) + size.div_ceil(self.block() << self.bits) * entry
    }

    pub(super) fn write(
        self,
        head: u64,
        pieces: impl Iterator<Item = Piece>,
        out: &mut Buffered<'_>,
    ) -> Result<(), Error> {
        out.zeros(head.next_multiple_of(INDEX_BYTES as u64) - head)?;
        for_each_chunk(pieces, self.block() << self.bits, |piece| self.start_of(piece), &mut |start| {
            let block = start.map(|start| (start >> self.block_bits) as u32);
            out.add(&ChunkFormat::index_entry(DEVICE, block))
        })
    }

    fn block(self) -> u64 {
        1 << self.block_bits
    }

    /// Returns the offset on the device of a piece; `None` for a hole.
    fn start_of(self, piece: Piece) -> Result<Option<u64>, Error> {
        let start = match piece.stored {
            Stored::Hole => return Ok(None),
            Stored::Plain { start } if start % self.block() == 0 => start,
            _ => return Err(self.misplaced("contents on a device")),
        };
        // A number of ones is a hole.
        if (start + piece.length) >> self.block_bits < u32::MAX.into() {
            return Ok(Some(start));
        }
        let what = format!("content at byte {start} of a device");
        Err(Error::Limit { what, expected: format!("less than 2^32 blocks of {} bytes", self.block()) })
    }

    fn misplaced(self, what: &str) -> Error {
        let expected = format!("a start at a multiple of {} bytes", self.block());
        Error::Limit { what: what.into(), expected }
    }
}
