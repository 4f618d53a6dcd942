//! The content of a compressed file as pieces.

use std::sync::Arc;

use packline_runtime::TaskError;
use packline_volume::{Missing, Piece, Pieces, ReadError};

use super::map::{Extent, ExtentKind, ExtentReader, Map};
use super::packed::Packed;
use crate::format::corrupt;

/// The pieces of a compressed file. A clone continues from the same place.
#[derive(Debug, Clone)]
pub(super) struct CompressedPieces {
    map: Arc<Map>,
    packed: Option<Arc<dyn Packed>>,
    reader: ExtentReader,
    /// The extent with the next piece, if a part of it has been returned.
    extent: Option<Extent>,
    /// Offset of the next piece.
    at: u64,
}

impl CompressedPieces {
    /// Starts with the first piece of the extent that has byte `from`, or of an earlier one. `packed`: the packed inode, in which the file may end.
    pub(super) fn new(map: &Arc<Map>, packed: Option<Arc<dyn Packed>>, from: u64) -> CompressedPieces {
        let reader = ExtentReader::new(map, from);
        let at = reader.offset();
        CompressedPieces { map: Arc::clone(map), packed, reader, extent: None, at }
    }

    /// Returns the piece at an offset of an extent.
    fn piece(&self, extent: &Extent) -> Result<Piece, ReadError> {
        let skip = self.at - extent.start;
        let left = extent.length - skip;
        let ExtentKind::Fragment(start) = extent.kind else {
            let piece = extent.piece(skip, left, None, self.map.block());
            return piece.ok_or_else(|| ReadError::internal("a stored extent without a piece".into()));
        };
        let Some(packed) = &self.packed else {
            let what = format!("end of a file at {start} of the packed inode");
            return Err(corrupt(self.map.address(), what, "an image with a packed inode"));
        };
        packed.piece_at(start.saturating_add(skip), left)
    }
}

impl Pieces for CompressedPieces {
    fn next_piece(&mut self) -> Option<Result<Piece, Missing>> {
        let extent = match self.extent.take() {
            Some(extent) => extent,
            None => match self.reader.next_extent()? {
                Ok(extent) => extent,
                Err(missing) => {
                    self.at += missing.length;
                    return Some(Err(missing));
                }
            },
        };
        match self.piece(&extent) {
            Ok(piece) => {
                self.at += piece.length();
                self.extent = Some(extent).filter(|extent| self.at < extent.end());
                Some(Ok(piece))
            }
            Err(error) => {
                let length = extent.end() - self.at;
                self.at = extent.end();
                Some(Err(Missing { length, error }))
            }
        }
    }

    fn offset(&self) -> u64 {
        self.at
    }

    fn boxed_clone(&self) -> Box<dyn Pieces> {
        Box::new(self.clone())
    }
}
