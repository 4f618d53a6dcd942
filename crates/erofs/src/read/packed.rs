//! The packed inode, in which files may end.

use std::fmt::Debug;

use packline_volume::{Piece, ReadError, Unit};

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
