//! A source: entries one after the other, and the content of each regular file while it is the current one.

use crate::{Bookmark, Entry, Error};

/// What a read of content gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes were put at the start of the buffer; at least one.
    Data(usize),
    /// So many zero bytes follow that are stored nowhere; at least one, possibly far more than the buffer holds.
    Hole(u64),
    /// The file has ended, at the size its entry said.
    End,
}

/// Where entries and contents come from: a directory, a tar, a list.
pub trait Source {
    /// The next entry, or `None` after the last. Skips what is left of the current file's content.
    fn next_entry(&mut self) -> Result<Option<Entry>, Error>;
    /// Reads on in the content of the entry returned last, which is a regular file. The sum of all extents is exactly
    /// the size that the entry said: a source that finds less or more returns an error.
    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error>;
    /// Where the content of the current entry is, a regular file of which nothing has been read. `None` if the source can only
    /// go forward.
    fn bookmark(&mut self) -> Option<Bookmark> {
        None
    }
    /// Makes the content at a bookmark the one that [`Source::read`] gives, from its start; [`Source::next_entry`] then goes on
    /// where it was. `path` is the entry's, for messages. A source that gives no bookmarks does nothing.
    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let _ = (bookmark, path);
        Ok(())
    }
    /// Bytes consumed so far, and in all where that is known (bytes of the input file, or of the files found): for a
    /// progress bar.
    fn progress(&self) -> (u64, Option<u64>);
    /// Warnings that came up since the last call, in the order of the input.
    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}
