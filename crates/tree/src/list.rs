//! A list of entries as a source, in the given order. Each entry has the local file with its content.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::Scanner;
use crate::directory::{Feed, FileId, FileLocation, Finder, ScannedEntry};
use crate::{DirectoryOptions, Entry, Error, Extent, ReadErrors, Source, UnreadPart};

/// A local regular file. A file created from a path is the file found at this path when it is read, with symbolic links followed.
/// A file from [`scan`] must still be the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    path: PathBuf,
    id: Option<FileId>,
    /// The file has other names.
    shared: bool,
}

impl HostFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode number, if the file had other names when it was found.
    pub fn shared_file(&self) -> Option<(u64, u64)> {
        self.id.filter(|_| self.shared)
    }

    /// Device and inode number of the expected file, if known.
    pub fn id(&self) -> Option<(u64, u64)> {
        self.id
    }
}

impl From<PathBuf> for HostFile {
    fn from(path: PathBuf) -> Self {
        Self { path, id: None, shared: false }
    }
}

/// Entries of an iterator, and the contents of its files.
///
/// Entries are returned unchanged, including extended attributes. Only the size of a file that is shorter than its entry says is
/// changed. The content of a regular file is read from its local file; a regular file of size 0 needs none.
pub struct ListSource<I> {
    feed: Feed<List<I>>,
    bytes: Option<u64>,
}

struct List<I>(I);

/// An entry of a list and the local file with its content, or the error that ends the list.
pub trait ListItem {
    fn into_entry(self) -> Result<(Entry, Option<HostFile>), Error>;
}

impl ListItem for (Entry, Option<HostFile>) {
    fn into_entry(self) -> Result<(Entry, Option<HostFile>), Error> {
        Ok(self)
    }
}

impl ListItem for Result<(Entry, Option<HostFile>), Error> {
    fn into_entry(self) -> Result<(Entry, Option<HostFile>), Error> {
        self
    }
}

impl<I: Iterator<Item: ListItem>> ListSource<I> {
    /// `readers` threads read at most `ahead_bytes` of content ahead of the caller. Without readers the caller reads all
    /// contents. `bytes` is the sum of all contents, if known, for a progress bar.
    pub fn new(
        entries: impl IntoIterator<IntoIter = I, Item = I::Item>,
        bytes: Option<u64>,
        readers: usize,
        ahead_bytes: usize,
    ) -> Self {
        let list = List(entries.into_iter());
        Self { feed: Feed::new(list, Path::new(""), readers, ahead_bytes), bytes }
    }
}

impl<I: Iterator<Item: ListItem>> Finder for List<I> {
    fn find(&mut self) -> Result<Option<ScannedEntry>, Error> {
        let Some(item) = self.0.next() else { return Ok(None) };
        let (entry, file) = item.into_entry()?;
        let (location, id) = match file {
            Some(HostFile { path, id, .. }) => (FileLocation::At(path), id),
            None => (FileLocation::Nowhere, None),
        };
        Ok(Some(ScannedEntry { id, sparse: true, ..ScannedEntry::new(entry, location) }))
    }
}

impl<I: Iterator<Item: ListItem>> Source for ListSource<I> {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.feed.next_entry()
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.feed.read(buffer)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        self.feed.read_later(most)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        Ok(self.feed.data_ranges(most))
    }

    fn read_again(&mut self) -> Option<u64> {
        self.feed.read_again()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.feed.bytes_done(), self.bytes)
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.feed.take_warnings()
    }
}

/// All entries of the directory `root`, in the order of a [`crate::DirectorySource`], with the local file of each regular file.
/// They can be reordered or changed before they are passed to a [`ListSource`]. The first error is final. `warn` receives
/// warnings.
pub fn scan(
    root: &Path,
    mut options: DirectoryOptions,
    warn: &mut dyn FnMut(String),
) -> Result<Vec<(Entry, Option<HostFile>)>, Error> {
    options.errors = ReadErrors::Fail;
    let mut scanner = Scanner::open(root, options)?;
    let mut entries = Vec::new();
    while let Some(found) = scanner.next_complete()? {
        let id = found.id;
        let shared = found.shared;
        let file = found.size().map(|_| HostFile { path: found.host_path(root), id, shared });
        entries.push((found.entry, file));
    }
    scanner.take_warnings().into_iter().for_each(warn);
    Ok(entries)
}
