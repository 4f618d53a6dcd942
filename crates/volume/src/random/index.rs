//! Access to a file's pieces by offset: records a bounded number of positions in the pieces, however long the file is.

use packline_runtime::TaskError;

use crate::{FileData, Missing, Piece, Pieces, ReadError, SharedVolume};

/// Maximum number of marks. When it is reached, every other mark is dropped.
const MARKS: usize = 32;
/// Pieces between two marks at first. Reading the positions of 256 pieces takes less time than decoding a unit.
const FIRST_STEP: u64 = 256;

/// Recorded positions in a file's pieces.
pub(super) struct PieceIndex {
    /// The pieces from the start, from `step` pieces after it, from 2 * `step`, ..., each with the offset of its next piece.
    marks: Vec<(u64, Box<dyn Pieces>)>,
    step: u64,
    /// The pieces after the last result.
    here: Option<Here>,
    /// The last result and its offset.
    last: Option<(u64, Piece)>,
}

/// A position in a file's pieces.
struct Here {
    pieces: Box<dyn Pieces>,
    /// Number of the next piece; `None` if the position was found directly, without counting pieces from the start.
    number: Option<u64>,
}

impl PieceIndex {
    pub(super) fn new(start: Box<dyn Pieces>) -> PieceIndex {
        PieceIndex { marks: vec![(0, start)], step: FIRST_STEP, here: None, last: None }
    }

    /// Returns the piece with byte `offset`, which must be less than the size of the file, and the offset of the piece.
    pub(super) fn find(
        &mut self,
        offset: u64,
        volume: &SharedVolume,
        file: &FileData,
    ) -> Result<(u64, Piece), ReadError> {
        if let Some((start, piece)) =
            self.last.filter(|(start, piece)| (*start..start + piece.length()).contains(&offset))
        {
            return Ok((start, piece));
        }
        let mut here = self.nearest(offset, volume, file);
        loop {
            self.mark(&here);
            let start = here.pieces.offset();
            let (length, found) = match here.pieces.next_piece() {
                None => return Err(short(offset, start)),
                Some(Ok(piece)) => (piece.length(), Ok((start, piece))),
                Some(Err(Missing { length, error })) => (length, Err(error)),
            };
            here.number = here.number.map(|number| number + 1);
            if offset - start < length {
                self.here = found.is_ok().then_some(here);
                self.last = found.as_ref().ok().copied();
                return found;
            }
        }
    }

    /// Returns the nearest known position at or before an offset.
    fn nearest(&mut self, offset: u64, volume: &SharedVolume, file: &FileData) -> Here {
        let after = self.marks.partition_point(|(start, _)| *start <= offset);
        let (marked, pieces) = &self.marks[after.max(1) - 1];
        let least = *marked;
        if let Some(here) = self.here.take()
            && (least..=offset).contains(&here.pieces.offset())
        {
            return here;
        }
        // The container may know a nearer position.
        let direct = volume.pieces(file, offset);
        if direct.offset() > least {
            return Here { pieces: direct, number: None };
        }
        Here { pieces: pieces.boxed_clone(), number: Some((after.max(1) - 1) as u64 * self.step) }
    }

    fn mark(&mut self, here: &Here) {
        if here.number != Some(self.marks.len() as u64 * self.step) {
            return;
        }
        if self.marks.len() == MARKS {
            let mut number = 0;
            self.marks.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step *= 2;
        }
        if here.number == Some(self.marks.len() as u64 * self.step) {
            self.marks.push((here.pieces.offset(), here.pieces.boxed_clone()));
        }
    }
}

fn short(offset: u64, end: u64) -> ReadError {
    ReadError::internal(format!("byte {offset} of pieces that end at byte {end}"))
}
