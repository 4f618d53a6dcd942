//! Failures of one file, before its path is added.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::FOLLOWED_MOST;
use crate::Error;

/// A failure of one file. Small, and created where the path is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The operation, and the operating system's error.
    Os(&'static str, Errno),
    /// The name refers to another file than when it was listed.
    Replaced,
    /// The name refers to another kind of file than when it was listed: the old kind and the new kind.
    Kind(FileType, FileType),
    /// An unknown type of file, with its `st_mode`.
    Type(u32),
    /// A hard link to a file that was skipped.
    Link,
    /// Symbolic links to directories multiply the entries.
    Multiplied,
}

impl Fault {
    pub fn at(self, path: &Path) -> Error {
        let (action, cause) = match self {
            Self::Os(action, errno) => (action, errno.into()),
            Self::Replaced => ("cannot read", other("another file took its place while the tree was read".into())),
            Self::Kind(was, is) => ("cannot read", turned(was, is)),
            Self::Link => ("cannot link", other("its first name was skipped".into())),
            Self::Multiplied => ("cannot follow symbolic links", other(multiplied())),
            Self::Type(mode) => ("cannot list", other(format!("unknown type of file, mode {mode:o} (octal)"))),
        };
        Error::Io { path: path.to_owned(), action, cause }
    }
}

impl Fault {
    /// The fault of a file that is stored as an empty file.
    pub fn of_empty_file(self) -> Fault {
        if let Self::Os(_, errno) = self {
            Self::Os("stored as an empty file, since it cannot be read", errno)
        } else {
            self
        }
    }

    /// Whether the system lacks descriptors or memory. Every other file would have the same fault, so reading does not continue after it.
    pub fn is_lack(self) -> bool {
        matches!(self, Self::Os(_, Errno::MFILE | Errno::NFILE | Errno::NOMEM))
    }

    /// The change of kind, if `now` differs from the listed kind and so is the cause. If not, returns this fault.
    pub fn unless_turned(self, was: FileType, now: rustix::io::Result<Stat>) -> Fault {
        match now.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(is) if is != was => Self::Kind(was, is),
            _ => self,
        }
    }
}

/// Adds the operation to the operating system's error.
pub(super) trait Tried<T> {
    fn tried(self, action: &'static str) -> Result<T, Fault>;
}

impl<T> Tried<T> for rustix::io::Result<T> {
    fn tried(self, action: &'static str) -> Result<T, Fault> {
        self.map_err(|errno| Fault::Os(action, errno))
    }
}

fn multiplied() -> String {
    format!("more than {FOLLOWED_MOST} entries are below links to directories, which multiply them")
}

fn turned(was: FileType, is: FileType) -> io::Error {
    let was = name(was);
    let is = name(is);
    other(format!("it changed while the tree was read: it was {was} and is {is} now"))
}

fn name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "of an unknown type",
    }
}

fn other(what: String) -> io::Error {
    io::Error::other(what)
}
