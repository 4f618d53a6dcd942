//! A source is a sequence of entries, with the content of the current entry if it is a regular file.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::{Entry, Error};

/// Result of a read of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Number of bytes at the start of the buffer. At least one.
    Data(usize),
    /// Number of zero bytes that are not stored. At least one, and possibly more than the buffer's size.
    Hole(u64),
    /// The end of the file, at the entry's size.
    End,
}

/// A content that any thread can read, also after the source has gone on to other entries.
pub trait SharedContent: Debug + Send + Sync {
    /// Fills `buffer` from the offset of an [`UnreadPart`]. Returns the number of bytes, which is smaller only if the content has become
    /// shorter than its entry says; the missing bytes count as zeros.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error>;
    /// Compares the file with its entry, after all bytes were read.
    fn end(&self) -> Result<ContentEnd, Error> {
        Ok(ContentEnd::Unchanged)
    }
}

/// State of a [`SharedContent`] after all bytes were read.
pub enum ContentEnd {
    Unchanged,
    /// The file has changed; the bytes that were read are stored. The text is a warning.
    Changed(String),
    /// The content must be read again. The source is at its end, so that [`Source::read_again`] starts it over.
    Again(Box<dyn Source>),
}

/// Bytes of a content that were announced, but not read.
#[derive(Debug)]
pub struct UnreadPart {
    pub content: Arc<dyn SharedContent>,
    /// Offset for [`SharedContent::read_at`].
    pub offset: u64,
    /// Number of bytes. At least one.
    pub bytes: usize,
}

/// The position of an entry's content, see [`Source::bookmark`]. Valid only for the source that made it.
#[derive(Debug, Clone)]
pub enum Bookmark {
    /// A number of the source.
    Number(u64),
    /// A value of the source's own type.
    Opaque(OpaqueBookmark),
}

/// A bookmark whose type only its source knows, see [`Bookmark::opaque`].
#[derive(Debug, Clone)]
pub struct OpaqueBookmark {
    value: Arc<dyn Any + Send + Sync>,
    memory: u64,
}

impl Bookmark {
    /// A bookmark with a value of the source's own type. `memory` is the heap memory of the value in bytes.
    pub fn opaque<T: Any + Send + Sync>(value: T, memory: u64) -> Bookmark {
        Bookmark::Opaque(OpaqueBookmark { value: Arc::new(value), memory: size_of::<T>() as u64 + memory })
    }

    /// The value given to [`Bookmark::opaque`], if its type is `T`.
    pub fn value<T: Any>(&self) -> Option<&T> {
        match self {
            Bookmark::Number(_) => None,
            Bookmark::Opaque(bookmark) => bookmark.value.downcast_ref(),
        }
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> u64 {
        match self {
            Bookmark::Number(_) => 0,
            Bookmark::Opaque(bookmark) => bookmark.memory,
        }
    }

    /// The error of a source called `input` for a bookmark that it did not make.
    pub fn foreign(input: &str, path: &[u8]) -> Error {
        let what = "content at a bookmark of another source".to_string();
        let expected = "one of this source".to_string();
        Error::Entry { input: input.to_string(), entry: path.to_vec(), what, expected }
    }
}

/// An iterator over entries and contents: a directory, a tar, a list.
///
/// Contents are read with their entries, in the order of the source:
///
/// ```
/// # use packline_tree::{Error, Extent, Kind, Source};
/// fn pack(source: &mut dyn Source, buffer: &mut [u8]) -> Result<(), Error> {
///     while let Some(entry) = source.next_entry()? {
///         while matches!(entry.kind, Kind::File { .. }) && source.read(buffer)? != Extent::End {}
///     }
///     Ok(())
/// }
/// ```
///
/// If the source has bookmarks, contents can also be read after all entries, in any order. Listing entries without their contents
/// is cheap if the source can seek, and a source that knows the order reads and decodes ahead:
///
/// ```
/// # use packline_tree::{Bookmark, Bytes, Error, Extent, Kind, Source};
/// fn pack_some(source: &mut dyn Source, buffer: &mut [u8], wanted: fn(&[u8]) -> bool) -> Result<(), Error> {
///     let mut files: Vec<(Bytes, Bookmark)> = Vec::new();
///     while let Some(entry) = source.next_entry()? {
///         if let (Kind::File { .. }, true) = (&entry.kind, wanted(&entry.path)) {
///             files.extend(source.bookmark().map(|bookmark| (entry.path, bookmark)));
///         }
///     }
///     source.expect(&mut files.iter().map(|(_, bookmark)| bookmark.clone()));
///     for (path, bookmark) in &files {
///         source.recall(bookmark, path)?;
///         while source.read(buffer)? != Extent::End {}
///     }
///     Ok(())
/// }
/// ```
pub trait Source {
    /// The next entry, or `None` after the last. Skips the unread rest of the current file's content.
    fn next_entry(&mut self) -> Result<Option<Entry>, Error>;
    /// Continues reading the content of the last entry, a regular file. The sum of all extents is exactly the entry's size: the
    /// excess of a file that grew is dropped, and a file that shrank ends with zeros. Both cause a warning. Sources other than
    /// directories return an error if a content has another size.
    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error>;
    /// Does what [`Source::read`] does, but leaves the reading of at most `most` bytes to the caller, who can read them on any thread.
    /// The caller must call [`SharedContent::end`] after it has read all parts of the content. `None` if the next extent can only be
    /// read by [`Source::read`].
    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        let _ = most;
        Ok(None)
    }
    /// The parts of the last entry's content that are not holes, in ascending order: ranges of offsets in bytes. The entry must be a regular file
    /// that has not been read. `None` if the content has no holes, if the source finds them only as it reads, and if there are more than `most`
    /// parts.
    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        let _ = most;
        Ok(None)
    }
    /// After the end of a content that shrank while it was read, starts the content over and returns its new size. `None` if the
    /// content is complete, or cannot change any more. A caller that does not ask gets zeros at the end.
    fn read_again(&mut self) -> Option<u64> {
        None
    }
    /// Device and inode number of the last entry on this machine, if the file has other names, which other sources may contain.
    fn shared_file(&self) -> Option<(u64, u64)> {
        None
    }
    /// The position of the current entry's content. The entry must be a regular file that has not been read. `None` if the source
    /// can only read forward.
    fn bookmark(&mut self) -> Option<Bookmark> {
        None
    }
    /// Makes [`Source::read`] return the content at a bookmark from its start. [`Source::next_entry`] later continues as before.
    /// `path` is the entry's path, for messages. A source without bookmarks does nothing.
    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let _ = (bookmark, path);
        Ok(())
    }
    /// Announces, after the last entry, the bookmarks of files that will be recalled, in this order, so that their contents can
    /// be read and decoded ahead. This is a hint: a bookmark out of order is found too. A skipped bookmark costs the decoding of
    /// its content, and a bookmark that was not announced is read when it is recalled. By default, no content is read ahead.
    fn expect(&mut self, order: &mut dyn Iterator<Item = Bookmark>) {
        let _ = order;
    }
    /// Memory in bytes that grows with the number of entries and bookmarks.
    fn memory(&self) -> usize {
        0
    }
    /// Bytes consumed so far, and the total if known (of the input file, or of the files found), for a progress bar.
    fn progress(&self) -> (u64, Option<u64>);
    /// Errors since the last call after which the source continued, as requested, in the order of the input.
    fn take_problems(&mut self) -> Vec<Error> {
        Vec::new()
    }
    /// Names of the user and the group that own the last entry. Empty if the source has no names.
    fn owner_names(&self) -> (&[u8], &[u8]) {
        (b"", b"")
    }
    /// The name of the archive format that the entries come from, such as `tar`. Empty if the entries do not come from one archive.
    fn format(&self) -> &'static str {
        ""
    }
    /// Warnings since the last call, in the order of the input.
    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}
