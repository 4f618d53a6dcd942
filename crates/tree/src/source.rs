//! A source: a sequence of entries, and the content of the current one if it is a regular file.

use crate::{Bookmark, Entry, Error};

/// Result of a read of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Number of bytes at the start of the buffer; at least one.
    Data(usize),
    /// Number of zero bytes that are not stored; at least one, possibly more than the buffer holds.
    Hole(u64),
    /// End of the file, at the entry's size.
    End,
}

/// An iterator over entries and contents: a directory, a tar, a list.
pub trait Source {
    /// The next entry, or `None` after the last. Skips the unread rest of the current file's content.
    fn next_entry(&mut self) -> Result<Option<Entry>, Error>;
    /// Continues reading the content of the last entry, a regular file. The sum of all extents is exactly the entry's size: a source that finds
    /// less or more returns an error.
    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error>;
    /// Position of the content of the current entry, a regular file of which nothing has been read. `None` if the source can only read
    /// forward.
    fn bookmark(&mut self) -> Option<Bookmark> {
        None
    }
    /// Makes [`Source::read`] return the content at a bookmark, from its start; [`Source::next_entry`] then continues where it was. `path`
    /// is the entry's, for messages. A source without bookmarks does nothing.
    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let _ = (bookmark, path);
        Ok(())
    }
    /// Bytes consumed so far, and the total where known (bytes of the input file, or of the files found), for a progress bar.
    fn progress(&self) -> (u64, Option<u64>);
    /// Errors since the last call after which the source continued, as it was asked to, in the order of the input.
    fn take_problems(&mut self) -> Vec<Error> {
        Vec::new()
    }
    /// Names of the user and the group that own the last entry; empty where the source has none.
    fn owner_names(&self) -> (&[u8], &[u8]) {
        (b"", b"")
    }
    /// Warnings since the last call, in the order of the input.
    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}
