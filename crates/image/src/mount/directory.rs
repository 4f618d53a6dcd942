//! Open directories. A listing continues at the end of the last request, so that a listing of any length is read once.

use std::sync::{Mutex, PoisonError};

use packline_volume::{DirEntry, Inode, Listing, ReadError, SharedVolume};

/// Number of entries before the image's: `.` and `..` have the offsets 1 and 2.
pub(super) const DOTS: u64 = 2;

/// An open directory.
pub(super) struct Directory {
    pub(super) inode: Inode,
    cursor: Mutex<Option<Cursor>>,
}

/// A listing, and the position in it.
struct Cursor {
    listing: Listing,
    /// Number of entries returned so far.
    taken: u64,
    /// An entry that was read but did not fit into the answer.
    left: Option<DirEntry>,
}

impl Directory {
    pub(super) fn new(inode: Inode) -> Directory {
        Directory { inode, cursor: Mutex::new(None) }
    }

    /// Passes the entries from number `first` on to `take`, each with its number, until `take` returns false or the listing ends.
    pub(super) fn entries(
        &self,
        volume: &SharedVolume,
        first: u64,
        take: &mut dyn FnMut(u64, &DirEntry) -> bool,
    ) -> Result<(), ReadError> {
        let mut held = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cursor = match held.take() {
            Some(cursor) if cursor.taken == first => cursor,
            _ => Cursor::at(volume.entries(&self.inode)?, first)?,
        };
        while let Some(entry) = cursor.next().transpose()? {
            if !take(cursor.taken, &entry) {
                cursor.left = Some(entry);
                break;
            }
            cursor.taken += 1;
        }
        *held = Some(cursor);
        Ok(())
    }
}

impl Cursor {
    /// Skips the first entries of a listing: after a seek back, or with two readers of the same directory.
    fn at(mut listing: Listing, first: u64) -> Result<Cursor, ReadError> {
        for _ in 0..first {
            if listing.next().transpose()?.is_none() {
                break;
            }
        }
        Ok(Cursor { listing, taken: first, left: None })
    }

    fn next(&mut self) -> Option<Result<DirEntry, ReadError>> {
        self.left.take().map(Ok).or_else(|| self.listing.next())
    }
}
