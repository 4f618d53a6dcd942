//! How pieces that are stored as they are divide a content into chunks of equal size.

use packline_blocks::Error;

use super::Piece;

/// Logarithm of the blocks of the largest chunk.
const CHUNK_BITS_MOST: u8 = 31;

/// Where the pieces of a content are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Survey {
    /// Bytes of all pieces.
    pub(super) size: u64,
    /// The bits of all offsets in the content at which a piece does not continue the piece before it.
    pub(super) breaks: u64,
    /// Where the first piece starts; `None` for a hole.
    pub(super) first: Option<u64>,
}

impl Survey {
    /// `start_of`: where a piece starts; `None` for a hole.
    pub(super) fn of(
        pieces: impl Iterator<Item = Piece>,
        start_of: impl Fn(Piece) -> Result<Option<u64>, Error>,
    ) -> Result<Survey, Error> {
        let mut survey = Survey { size: 0, breaks: 0, first: None };
        // Where the next piece must start to continue the piece before it.
        let mut expected = None;
        for piece in pieces {
            let start = start_of(piece)?;
            if survey.size == 0 {
                survey.first = start;
            } else if start != expected {
                survey.breaks |= survey.size;
            }
            survey.size += piece.length;
            expected = start.map(|start| start + piece.length);
        }
        Ok(survey)
    }

    /// Returns the logarithm of the blocks of the largest chunks that have no break inside. One chunk is enough if there is no break. `size`: bytes
    /// of the content.
    pub(super) fn chunk_bits(self, size: u64, block_bits: u8) -> u8 {
        let whole = size.next_power_of_two().ilog2();
        let common = if self.breaks == 0 { whole } else { self.breaks.trailing_zeros().min(whole) };
        (common as u8).saturating_sub(block_bits).min(CHUNK_BITS_MOST)
    }
}

/// Calls `put` with the start of each chunk of `bytes` bytes; `None` for a hole.
pub(super) fn for_each_chunk(
    pieces: impl Iterator<Item = Piece>,
    bytes: u64,
    start_of: impl Fn(Piece) -> Result<Option<u64>, Error>,
    put: &mut dyn FnMut(Option<u64>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut at = 0;
    let mut chunk = 0;
    for piece in pieces {
        let start = start_of(piece)?;
        let end = at + piece.length;
        while chunk < end {
            put(start.map(|start| start + (chunk - at)))?;
            chunk += bytes;
        }
        at = end;
    }
    Ok(())
}
