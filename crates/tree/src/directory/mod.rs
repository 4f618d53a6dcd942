//! A directory as a source: all its entries, in an order that depends only on their names.
//!
//! The order is depth first, with a directory before its entries and names sorted by their bytes. The root comes first and has
//! the empty path. The first name of a file with several names is the file; the other names are hard links to it. Symbolic links
//! are followed only on request ([`Symlinks`]), and never if they have replaced a directory during the walk: every file is opened
//! relative to its directory, and must be the file that was listed.
//!
//! If a file changes between listing and reading, the content at the time of reading is stored, with a warning. `reading/change.rs`
//! has the rules. A file with several names must not be replaced by another file, which is an error.
//!
//! With [`ReadErrors::LeaveOut`], unreadable entries are skipped and reported ([`Source::take_problems`]), identically and in the
//! same order for any number of readers. Small files are read before their entry is returned, even without readers, and their
//! size may change then.

mod fault;
mod found;
mod listed;
mod reading;
mod scan;
mod stat;
mod xattr;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

pub(crate) use found::FileLocation;
pub use found::ScannedEntry;
pub use listed::ListedDirectory;
pub(crate) use reading::{Feed, Finder};
pub use scan::Scanner;
pub(crate) use stat::FileId;
pub use xattr::XattrReader;

use crate::{Bytes, Entry, Error, Extent, Names, PathFilter, Patterns, Source, UnreadPart};

/// How other file systems mounted below the root are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MountPoints {
    /// Mount points are entered like any directory.
    #[default]
    Enter,
    /// A mount point is an empty directory with the attributes of the mounted root. A file mounted over another file is skipped.
    Empty,
    /// Mount points are skipped.
    Skip,
}

/// How an entry that cannot be read is treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadErrors {
    /// Reading ends.
    #[default]
    Fail,
    /// The entry is skipped and the error is reported. A directory is kept and empty. An entry with an unreadable extended
    /// attribute is kept without extended attributes. An error in an open file of more than 128 KiB still ends the reading.
    LeaveOut,
    /// Like [`ReadErrors::LeaveOut`], but a file is stored as an empty file, and a directory that cannot be opened is skipped, as
    /// in mksquashfs.
    EmptyFile,
}

/// How symbolic links are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// They are entries.
    #[default]
    Kept,
    /// They are replaced by the file or directory that they lead to, at any path, under the name of the link. A link that cannot
    /// be followed, because its target is missing or is a directory above the link, causes a warning ([`Source::take_warnings`]).
    Followed(NotFollowed),
}

/// How a symbolic link that cannot be followed is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFollowed {
    /// It is a symbolic link.
    Kept,
    LeftOut,
}

#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DirectoryOptions {
    /// Whether to read extended attributes.
    pub xattrs: bool,
    /// Whether to detect files with several names. If not, each name is a separate file.
    pub hard_links: bool,
    pub mount_points: MountPoints,
    /// How symbolic links are treated. Links to directories can multiply the entries; more than [`FOLLOWED_MOST`] entries below
    /// such directories are an error.
    pub symlinks: Symlinks,
    /// Device and inode numbers of directories above the root, in addition to the root itself. Links to them are not followed.
    pub above: BTreeSet<(u64, u64)>,
    /// Patterns of names to skip, with everything below them. Never the root.
    pub excludes: Patterns,
    /// Canonical path of the root within the packed tree; empty if it is the packed root. Patterns are compared with paths in the
    /// packed tree.
    pub prefix: Bytes,
    /// Canonical paths to skip, with everything below them.
    pub without: Vec<Bytes>,
    /// Device and inode numbers of entries to skip, under all of their names. Never the root.
    pub without_inodes: BTreeSet<(u64, u64)>,
    /// The caller's rule for entries to skip.
    pub filter: Option<PathFilter>,
    /// Canonical path of a directory to list alone; empty for the root. Outside it, only the directories above it are listed. A
    /// file whose other names are outside is a file, not a hard link.
    pub below: Bytes,
    /// The entries to list, if not all. A file with several names has only the listed names.
    pub only: Option<Names>,
    /// How an entry that cannot be read is treated.
    pub errors: ReadErrors,
    /// Whether only entries are needed. Files are then opened, but read only if reading continues after errors.
    pub entries_only: bool,
    /// Number of threads that read small files ahead of the caller. With 0 the caller reads all files. Changes no result.
    pub readers: usize,
    /// Maximum number of bytes of content that they read ahead, not counting the current file. At least 131,072.
    pub ahead_bytes: usize,
    /// Maximum number of directories that they keep open, not counting the current file's directory.
    pub ahead_directories: usize,
}

/// Maximum number of entries below directories that are entered through symbolic links.
pub const FOLLOWED_MOST: u64 = 1 << 22;

/// Number of directories on the way from the root that are kept open.
const OPEN_DIRECTORIES: usize = 64;

/// The default number of directories kept open for files that are read ahead.
const AHEAD_DIRECTORIES: usize = 128;

/// The default number of bytes read ahead.
pub const AHEAD_BYTES: usize = 2 << 20;

impl Default for DirectoryOptions {
    /// All entries, with extended attributes and hard links, without readers.
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
    /// The defaults with `readers` threads that read files ahead.
    pub fn new(readers: usize) -> DirectoryOptions {
        DirectoryOptions { readers, ..DirectoryOptions::default() }
    }

    /// Whether a path is skipped with everything below it, regardless of the patterns.
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

    /// Whether a path is neither above the requested directory nor in it.
    fn is_beside(&self, path: &[u8]) -> bool {
        let (short, long) =
            if path.len() < self.below.len() { (path, &self.below[..]) } else { (&self.below[..], path) };
        let inside = |rest: &[u8]| short.is_empty() || rest.is_empty() || rest.starts_with(b"/");
        !long.strip_prefix(short).is_some_and(inside)
    }
}

impl DirectorySource {
    /// Opens the directory `root`, which may be a symbolic link to a directory. Fails if it cannot be opened.
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

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        self.feed.read_later(most)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        Ok(self.feed.data_ranges(most))
    }

    fn read_again(&mut self) -> Option<u64> {
        self.feed.read_again()
    }

    fn shared_file(&self) -> Option<(u64, u64)> {
        self.feed.shared_file().filter(|_| self.hard_links)
    }

    /// Bytes of contents returned so far, including holes. The total is not known.
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
