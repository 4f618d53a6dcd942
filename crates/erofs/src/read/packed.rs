//! The packed inode, in which files may end.

use std::fmt::Debug;
use std::sync::Arc;

use packline_runtime::TaskError;
use packline_volume::{Missing, Piece, ReadError, Unit};

use super::contents::Contents;
use super::data::DataPlace;
use super::flat::{plain, whole};
use crate::format::corrupt;

/// The content of the packed inode as parts of files. Any thread may read.
pub(crate) trait Packed: Debug + Send + Sync {
    /// Returns the piece from an offset of the packed inode on, of at most `most` bytes: a hole, all of a plain unit, or a part of a shared unit.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the packed inode does not have the bytes; errors of reading its index.
    fn piece_at(&self, offset: u64, most: u64) -> Result<Piece, ReadError>;

    /// Returns a shared unit by its key.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if no shared unit has this key; errors of reading the index.
    fn unit(&self, key: u32) -> Result<Unit, ReadError>;

    /// Returns a bound of the keys.
    fn keys(&self) -> u64;
}

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
