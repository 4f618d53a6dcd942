//! A list of entries as a source, each with the local file that has its content, in the order given.

use std::path::{Path, PathBuf};

use crate::directory::{Feed, FileId, Finder, Found, Place, Scanner};
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

    /// The file that must be there, if that is known.
    pub(crate) fn id(&self) -> Option<FileId> {
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

impl<I: Iterator<Item = (Entry, Option<HostFile>)>> ListSource<I> {
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

impl<I: Iterator<Item = (Entry, Option<HostFile>)>> Finder for List<I> {
    fn find(&mut self) -> Result<Option<Found>, Error> {
        let Some((entry, file)) = self.0.next() else { return Ok(None) };
        let (place, id) = match file {
            Some(HostFile { path, id, .. }) => (Place::At(path), id),
            None => (Place::Nowhere, None),
        };
        Ok(Some(Found { id, sparse: true, ..Found::new(entry, place) }))
    }
}

impl<I: Iterator<Item = (Entry, Option<HostFile>)>> Source for ListSource<I> {
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
