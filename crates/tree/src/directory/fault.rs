//! What goes wrong with one file, before its path is put to it.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::Error;

/// A failure with one file. Small, and made where its path is not at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// What was tried, and the operating system's answer.
    Os(&'static str, Errno),
    /// The file has another size than when it was listed: found, expected.
    Size(u64, u64),
    /// Under its name there is another file than when it was listed.
    Replaced,
    /// A type of file that no one knows; `st_mode`.
    Type(u32),
    /// A reader thread ended early.
    Reader,
}

impl Fault {
    pub fn at(self, path: &Path) -> Error {
        let (action, cause) = match self {
            Self::Os(action, errno) => (action, errno.into()),
            Self::Size(found, expected) => ("cannot read", changed(found, expected)),
            Self::Replaced => ("cannot read", other("another file took its place while the tree was read".into())),
            Self::Type(mode) => ("cannot list", other(format!("unknown type of file, mode {mode:o} (octal)"))),
            Self::Reader => ("cannot read", other("the thread that read it ended early".into())),
        };
        Error::Io { path: path.to_owned(), action, cause }
    }
}

/// Puts a phrase to the operating system's answer.
pub(super) trait Tried<T> {
    fn tried(self, action: &'static str) -> Result<T, Fault>;
}

impl<T> Tried<T> for rustix::io::Result<T> {
    fn tried(self, action: &'static str) -> Result<T, Fault> {
        self.map_err(|errno| Fault::Os(action, errno))
    }
}

fn changed(found: u64, expected: u64) -> io::Error {
    let verb = if found < expected { "shrank" } else { "grew" };
    other(format!("it {verb} to {found} bytes while the tree was read (expected {expected}, as when it was listed)"))
}

fn other(what: String) -> io::Error {
    io::Error::other(what)
}
