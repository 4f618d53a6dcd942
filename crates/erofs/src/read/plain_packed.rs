//! A packed inode that is not compressed.

use std::sync::Arc;

use packline_runtime::TaskError;
use packline_volume::{Missing, Piece, ReadError, Unit};

use super::contents::Contents;
use super::data::DataPlace;
use super::flat::{plain, whole};
use super::packed::Packed;
use crate::format::corrupt;

/// A packed inode that is not compressed: it has no shared units.
#[derive(Debug)]
pub(super) struct PlainPacked {
    contents: Arc<Contents>,
    place: DataPlace,
}

impl PlainPacked {
    /// `contents`: the image without the packed inode.
    pub(super) fn new(contents: &Arc<Contents>, place: DataPlace) -> PlainPacked {
        PlainPacked { contents: Arc::clone(contents), place }
    }
}

impl Packed for PlainPacked {
    fn piece_at(&self, offset: u64, most: u64) -> Result<Piece, ReadError> {
        if offset >= self.place.size {
            let what = format!("end of a file at {offset} of the packed inode");
            return Err(corrupt(self.place.end, what, format!("an offset below its size {}", self.place.size)));
        }
        let mut pieces = self.contents.pieces(&self.place, offset);
        let skip = offset - pieces.offset();
        match pieces.next_piece() {
            Some(Ok(Piece::Hole { length })) => Ok(Piece::Hole { length: (length - skip).min(most) }),
            Some(Ok(Piece::Own { unit, start, length })) => {
                let length = (u64::from(length) - skip).min(most);
                Ok(whole(plain(unit.offset + u64::from(start) + skip, length)))
            }
            Some(Err(Missing { error, .. })) => Err(error),
            Some(Ok(Piece::Shared { .. })) | None => Err(ReadError::internal("no piece in the packed inode".into())),
        }
    }

    fn unit(&self, key: u32) -> Result<Unit, ReadError> {
        Err(corrupt(self.place.end, format!("shared unit {key}"), "none, because the packed inode is not compressed"))
    }

    fn keys(&self) -> u64 {
        0
    }
}
