//! Why something could not be made, before its path is put to it.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::Error;

/// A failure with one name. Small, and made where its path is not at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// What was tried, as a phrase (`cannot create`), and the operating system's answer.
    Os(&'static str, Errno),
    /// A name that no directory entry can have: empty, `.`, `..`, with a slash or a NUL, or longer than 255 bytes.
    Name,
    /// Under the name there is something else than what was made there: another file took its place.
    Replaced,
    /// What has the name is what the tree is read from.
    Input,
    /// A number that stands for no owner or group (4294967295 means `leave it as it is` to the system).
    Owner(u32),
}

impl Refusal {
    /// What was tried.
    pub fn action(&self) -> &'static str {
        match self {
            Refusal::Os(action, _) => action,
            Refusal::Name => "cannot make an entry",
            Refusal::Replaced => "cannot go on with it",
            Refusal::Input => "cannot replace it",
            Refusal::Owner(_) => "cannot set the owner",
        }
    }

    /// The operating system's answer, if it was asked.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Refusal::Os(_, errno) => Some(*errno),
            _ => None,
        }
    }

    /// The reason.
    pub fn cause(&self) -> io::Error {
        match self {
            Refusal::Os(_, errno) => (*errno).into(),
            Refusal::Name => {
                io::Error::other("its name is none (expected 1 to 255 bytes, no slash, no NUL, not . or ..)")
            }
            Refusal::Replaced => io::Error::other("something else took its place meanwhile"),
            Refusal::Input => io::Error::other("it is the input itself (expected another destination)"),
            Refusal::Owner(id) => io::Error::other(format!("{id} is no owner or group (expected at most 4294967294)")),
        }
    }

    /// The error of a path.
    pub fn at(&self, path: &Path) -> Error {
        Error::Io { path: path.to_owned(), action: self.action(), cause: self.cause() }
    }
}

/// Puts a phrase to the operating system's answer.
pub(super) trait Tried<T> {
    fn tried(self, action: &'static str) -> Result<T, Refusal>;
}

impl<T> Tried<T> for rustix::io::Result<T> {
    fn tried(self, action: &'static str) -> Result<T, Refusal> {
        self.map_err(|errno| Refusal::Os(action, errno))
    }
}
