//! A directory as a source: everything in it, in one order that depends on the names alone.
//!
//! Order: depth first, a directory before what is in it, names sorted by their bytes; the root comes first, with the empty
//! path. The first name of a file with several is the file, the others are hard links to it. Symbolic links are followed
//! only on request ([`Symlinks`]), and never one that takes the place of a directory during the walk: everything is opened
//! relative to its directory, and must be what was listed.
//!
//! A file that changes between being listed and being read gets a warning, and is stored as it is then: `reading/change.rs` has the rules. A file
//! with several names must not be replaced by another one, which is an error.
//!
//! With [`ReadErrors::LeaveOut`] what cannot be read is left out and reported ([`Source::take_problems`]): the same, in the
//! same order, with any number of readers. Small files are read before their entry is given, also without readers: its size may be another
//! one then.

mod fault;
mod found;
mod listed;
mod reading;
mod scan;
mod stat;
mod xattr;

use std::collections::BTreeSet;
use std::path::Path;

pub(crate) use found::Place;
pub use found::ScannedEntry;
pub use listed::ListedDirectory;
pub(crate) use reading::{Feed, Finder};
pub use scan::Scanner;
pub(crate) use stat::FileId;
pub use xattr::XattrReader;

use crate::{Bytes, Entry, Error, Extent, Names, PathFilter, Patterns, Source};

/// How other file systems mounted below the root are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MountPoints {
    /// They are entered like any directory.
    #[default]
    Enter,
    /// A mount point is an empty directory (with the attributes of what is mounted); a file mounted over a file is left out.
    Empty,
    /// They are left out.
    Skip,
}

/// What becomes of an entry that cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadErrors {
    /// It ends the reading.
    #[default]
    Fail,
    /// The entry is left out, and the error is reported. A directory stays and is empty; an entry of which an extended attribute cannot
    /// be read stays, without any. An error in a file of more than 128 KiB that has been opened ends the reading all the same.
    LeaveOut,
    /// As [`ReadErrors::LeaveOut`], but a file is stored as an empty file, and a directory that cannot be opened is left out. This is
    /// what mksquashfs does.
    EmptyFile,
}

/// What symbolic links are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// Entries of their own.
    #[default]
    Kept,
    /// The file or directory that they lead to, wherever it is, under the name of the link. What cannot be followed is reported as a
    /// warning ([`Source::take_warnings`]): a link that leads to nothing, or to a directory that it is in.
    Followed(NotFollowed),
}

/// What a symbolic link is that cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFollowed {
    /// A symbolic link.
    Kept,
    LeftOut,
}

/// How a directory is read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DirectoryOptions {
    /// Whether extended attributes are read.
    pub xattrs: bool,
    /// Whether files with several names are detected; if not, each name is a file of its own.
    pub hard_links: bool,
    pub mount_points: MountPoints,
    /// What symbolic links are. Those to a directory can multiply the entries; below such directories there are at most
    /// [`FOLLOWED_MOST`], or it is an error.
    pub symlinks: Symlinks,
    /// Device and inode numbers of directories that the root counts as being in, besides itself: links to them are not followed.
    pub above: BTreeSet<(u64, u64)>,
    /// Names that are left out, with all below them; never the root.
    pub excludes: Patterns,
    /// Canonical path of the root in what is packed, empty for the root of that: patterns are compared with paths there.
    pub prefix: Bytes,
    /// Canonical paths that are left out, with all below them.
    pub without: Vec<Bytes>,
    /// Device and inode numbers of entries that are left out, under all of their names; never the root.
    pub without_inodes: BTreeSet<(u64, u64)>,
    /// A rule of the caller for what is left out.
    pub filter: Option<PathFilter>,
    /// Canonical path of a directory, empty for the root: of everything beside it only the directories on the way to it are
    /// found. A file whose other names are outside is a file, not a hard link.
    pub below: Bytes,
    /// The entries that are found, if not all: of a file with other names, only the names among them count.
    pub only: Option<Names>,
    /// What becomes of an entry that cannot be read.
    pub errors: ReadErrors,
    /// Whether only entries are wanted: files are opened, and read only if reading continues after errors.
    pub entries_only: bool,
    /// How many threads read small files ahead of the caller; with 0 the caller reads everything. Changes no result.
    pub readers: usize,
    /// How many bytes of content they read ahead at most, not counting the current file; at least 131,072.
    pub ahead_bytes: usize,
    /// How many directories they keep open at most, not counting that of the current file.
    pub ahead_directories: usize,
}

/// The most entries below directories that are entered through symbolic links.
pub const FOLLOWED_MOST: u64 = 1 << 22;

/// How many directories on the way down are kept open.
const OPEN_DIRECTORIES: usize = 64;

/// The default number of directories kept open for files that are read ahead.
const AHEAD_DIRECTORIES: usize = 128;

/// The default number of bytes read ahead.
pub const AHEAD_BYTES: usize = 2 << 20;

impl Default for DirectoryOptions {
    /// Everything, extended attributes and hard links included, with no readers.
    fn default() -> Self {
        Self {
            xattrs: true,
            hard_links: true,
            mount_points: MountPoints::Enter,
            symlinks: Symlinks::Kept,
            above: BTreeSet::new(),
            excludes: Patterns::new(),
            prefix: Bytes::new(),
            without: Vec::new(),
            without_inodes: BTreeSet::new(),
            filter: None,
            below: Bytes::new(),
            only: None,
            errors: ReadErrors::Fail,
            entries_only: false,
            readers: 0,
            ahead_bytes: AHEAD_BYTES,
            ahead_directories: AHEAD_DIRECTORIES,
        }
    }
}

pub struct DirectorySource {
    feed: Feed<Scanner>,
    hard_links: bool,
}

impl DirectoryOptions {
    /// The default, with this many threads that read files ahead.
    pub fn new(readers: usize) -> DirectoryOptions {
        DirectoryOptions { readers, ..DirectoryOptions::default() }
    }

    /// Whether everything at a path and below it is left out, whatever the patterns.
    pub fn passes_over(&self, path: &[u8]) -> bool {
        self.without.iter().any(|without| without == path)
            || self.is_beside(path)
            || self.only.as_ref().is_some_and(|names| !names.reach(path))
            || self.filter.as_ref().is_some_and(|filter| filter.leaves_out(path))
    }

    /// Whether a pattern matches the entry at a path.
    pub fn excludes(&self, path: &[u8], directory: bool) -> bool {
        if self.prefix.is_empty() || self.excludes.is_empty() {
            self.excludes.matches(path, directory)
        } else {
            self.excludes.matches(&[&self.prefix, &b"/"[..], path].concat(), directory)
        }
    }

    /// Whether a path neither leads to the directory that is wanted nor is in it.
    fn is_beside(&self, path: &[u8]) -> bool {
        let (short, long) =
            if path.len() < self.below.len() { (path, &self.below[..]) } else { (&self.below[..], path) };
        let inside = |rest: &[u8]| short.is_empty() || rest.is_empty() || rest.starts_with(b"/");
        !long.strip_prefix(short).is_some_and(inside)
    }
}

impl DirectorySource {
    /// Opens the directory `root`, which may be given as a symbolic link to one. Fails if it cannot be opened.
    pub fn open(root: &Path, options: DirectoryOptions) -> Result<Self, Error> {
        let readers = options.readers;
        let ahead = options.ahead_bytes;
        let errors = options.errors;
        let directories = options.ahead_directories;
        let hard_links = options.hard_links;
        let unread = options.entries_only && errors == ReadErrors::Fail;
        let feed = Feed::new(Scanner::open(root, options)?, root, readers, ahead).keeping_open(directories);
        let feed = if unread { feed.leaving_unread() } else { feed };
        Ok(Self { feed: feed.with_errors(errors), hard_links })
    }
}

impl Finder for Scanner {
    fn find(&mut self) -> Result<Option<ScannedEntry>, Error> {
        self.next()
    }

    fn take_problems(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.problems)
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

impl Source for DirectorySource {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.feed.next_entry()
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.feed.read(buffer)
    }

    fn read_again(&mut self) -> Option<u64> {
        self.feed.read_again()
    }

    fn shared_file(&self) -> Option<(u64, u64)> {
        self.feed.shared_file().filter(|_| self.hard_links)
    }

    /// Bytes of contents returned so far, holes included; the total is not known.
    fn progress(&self) -> (u64, Option<u64>) {
        (self.feed.bytes_done(), None)
    }

    fn take_problems(&mut self) -> Vec<Error> {
        self.feed.take_problems()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.feed.take_warnings()
    }
}
