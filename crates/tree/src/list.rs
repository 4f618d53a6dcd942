//! A list of entries as a source, each with the local file that has its content, in the order given.

use std::path::{Path, PathBuf};

use crate::Scanner;
use crate::directory::{Feed, FileId, Finder, Place, ScannedEntry};
use crate::{DirectoryOptions, Entry, Error, Extent, ReadErrors, Source};

/// A local regular file. Created from a path, it is the file found there when it is read, symbolic links followed; one from [`scan`] must
/// still be the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    path: PathBuf,
    id: Option<FileId>,
    /// It has other names.
    shared: bool,
}

impl HostFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode number, if it was found to have other names.
    pub fn shared_file(&self) -> Option<(u64, u64)> {
        self.id.filter(|_| self.shared)
    }

    /// Device and inode number of the file that must be there, if that is known.
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
/// Entries are returned unchanged, extended attributes included, but for the size of a file that is shorter than its entry says. The content
/// of a regular file is read from its local file; a regular file of size 0 needs none.
pub struct ListSource<I> {
    feed: Feed<List<I>>,
    bytes: Option<u64>,
}

struct List<I>(I);

/// An entry of a list with the local file that has its content, or the error that ends the list.
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
    /// `readers` threads read at most `ahead_bytes` of content ahead of the caller; with 0 the caller reads everything. `bytes` is the sum
    /// of all contents if known, for a progress bar.
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
        let (place, id) = match file {
            Some(HostFile { path, id, .. }) => (Place::At(path), id),
            None => (Place::Nowhere, None),
        };
        Ok(Some(ScannedEntry { id, sparse: true, ..ScannedEntry::new(entry, place) }))
    }
}

impl<I: Iterator<Item: ListItem>> Source for ListSource<I> {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.feed.next_entry()
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.feed.read(buffer)
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

/// Everything in the directory `root`, in the order of a [`crate::DirectorySource`], with the local file of each regular file, for
/// reordering or changing before it is passed to a [`ListSource`]. The first error is final; `warn` gets warnings.
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
