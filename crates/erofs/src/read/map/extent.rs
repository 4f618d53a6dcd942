//! Extents: ranges of a file that are stored together.

use packline_volume::{PLAIN, Piece, ReadError, SharedPlace, Unit};

use super::MapImage;
use crate::format::algorithms::{CONTENT_MOST, STORED_MOST};
use crate::format::corrupt;
use crate::read::flat::PLAIN_BYTES;

/// A range of a file that is stored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Offset in the file in bytes.
    pub(crate) start: u64,
    /// Bytes of content; at least one.
    pub(crate) length: u64,
    /// Number of its logical cluster or record, which identifies the extent in its file.
    pub(crate) key: u64,
    /// Address of its entry in the index, for messages.
    pub(crate) entry: u64,
    pub(crate) kind: ExtentKind,
}

/// How an extent is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtentKind {
    /// Zeros that are not stored.
    Hole,
    Stored(Stored),
    /// In the packed inode, at an offset.
    Fragment(u64),
}

/// The stored bytes of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) form: Form,
}

/// How the stored bytes of an extent are its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The content is at the start.
    Plain,
    /// The content starts so that its offset in a block is that in the file. What follows the first end of a block is at the start.
    Interlaced,
    Coded(Coded),
}

/// How content is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coded {
    /// Number of the algorithm, 0 to 15.
    pub(crate) algorithm: u8,
    /// Whether the cluster may have more content than the extent.
    pub(crate) is_partial: bool,
}

impl Coded {
    /// Returns the form of a unit.
    pub(crate) fn number(self) -> u16 {
        PLAIN + 1 + u16::from(self.algorithm) * 2 + u16::from(self.is_partial)
    }

    /// Returns the coding of the form of a unit; `None` for plain units.
    pub(crate) fn of_number(form: u16) -> Option<Coded> {
        let number = form.checked_sub(PLAIN + 1)?;
        Some(Coded { algorithm: (number / 2) as u8, is_partial: number % 2 == 1 })
    }
}

impl Extent {
    /// Returns the offset in the file of the first byte after it.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.length
    }

    pub(crate) fn contains(&self, offset: u64) -> bool {
        (self.start..self.end()).contains(&offset)
    }

    /// Checks the sizes and the position of a stored extent.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the extent breaks a rule.
    pub(super) fn check(self, image: &MapImage) -> Result<Extent, ReadError> {
        let ExtentKind::Stored(Stored { offset, bytes, form }) = self.kind else { return Ok(self) };
        let what = || format!("extent of {} bytes, {bytes} stored at {offset}", self.length);
        let stored = u64::from(bytes);
        if offset.checked_add(stored).is_none_or(|end| end > image.end) {
            return Err(corrupt(self.entry, what(), format!("an end within the {} bytes of the image", image.end)));
        }
        match form {
            Form::Plain | Form::Interlaced if self.length > stored => {
                Err(corrupt(self.entry, what(), "as many bytes stored as it has, because it is not compressed"))
            }
            Form::Plain | Form::Interlaced => Ok(self),
            Form::Coded(_) if stored > STORED_MOST || self.length > CONTENT_MOST => {
                Err(corrupt(self.entry, what(), "12 MiB in at most 1 MiB of compressed bytes"))
            }
            Form::Coded(Coded { algorithm, .. }) if image.algorithms.codec(algorithm).is_none() => {
                let what = format!("compression algorithm {algorithm}");
                Err(corrupt(self.entry, what, format!("one of the image's algorithms: {}", image.algorithms.names())))
            }
            Form::Coded(_) => Ok(self),
        }
    }

    /// Returns the unit of a compressed extent.
    pub(crate) fn unit(&self) -> Option<Unit> {
        let ExtentKind::Stored(Stored { offset, bytes, form: Form::Coded(coded) }) = self.kind else { return None };
        Some(Unit { offset, stored: bytes, length: self.length as u32, form: coded.number() })
    }

    /// Returns the piece from byte `skip` of the extent on, of at most `most` bytes. `None` if the extent is in the packed inode. A compressed
    /// extent is an own unit if `key` is `None`, or else a shared unit.
    pub(crate) fn piece(&self, skip: u64, most: u64, key: Option<u32>, block: u64) -> Option<Piece> {
        let length = (self.length - skip).min(most);
        let Stored { offset, bytes, form } = match self.kind {
            ExtentKind::Hole => return Some(Piece::Hole { length }),
            ExtentKind::Fragment(_) => return None,
            ExtentKind::Stored(stored) => stored,
        };
        // Bytes of content up to the end of a block.
        let first = block - self.start % block;
        match form {
            Form::Plain => Some(plain(offset + skip, length)),
            Form::Interlaced if skip < first => {
                Some(plain(offset + u64::from(bytes) - first + skip, length.min(first - skip)))
            }
            Form::Interlaced => Some(plain(offset + skip - first, length)),
            Form::Coded(_) => Some(match key {
                Some(unit) => Piece::Shared { place: SharedPlace { unit, offset: skip as u32 }, length: length as u32 },
                None => Piece::Own { unit: self.unit()?, start: skip as u32, length: length as u32 },
            }),
        }
    }
}

/// Returns a piece of stored content.
fn plain(offset: u64, length: u64) -> Piece {
    let length = length.min(PLAIN_BYTES) as u32;
    Piece::Own { unit: Unit { offset, stored: length, length, form: PLAIN }, start: 0, length }
}
