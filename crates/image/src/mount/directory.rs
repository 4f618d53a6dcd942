//! Open directories: a listing is read on from where the last request ended, so that one of any length is read once.

use std::sync::{Mutex, PoisonError};

use packline_volume::{DirEntry, Inode, Listing, ReadError, SharedVolume};

/// Offsets 1 and 2 are after `.` and `..`; the image's entries follow.
pub(super) const DOTS: u64 = 2;

/// An open directory.
pub(super) struct Directory {
    pub(super) inode: Inode,
    cursor: Mutex<Option<Cursor>>,
}

/// A listing, and how far it has been read.
struct Cursor {
    listing: Listing,
    /// Entries returned so far.
    taken: u64,
    /// An entry that was read but did not fit into the answer.
    left: Option<DirEntry>,
}

impl Directory {
    pub(super) fn new(inode: Inode) -> Directory {
        Directory { inode, cursor: Mutex::new(None) }
    }

    /// Passes the entries from the `first` on to `take`, each with its number, until it has no space, or the end.
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
    /// Past the first entries of a listing: after a seek back, or with two readers of the same directory.
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
