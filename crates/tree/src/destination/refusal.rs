//! Errors for single names, before their path is added.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::Error;

/// An error for one name. Small, and created where the path is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The failed action, as a phrase (`cannot create`), and the system's error.
    Os(&'static str, Errno),
    /// The process lacks the privilege to create a device. Contains the failed action.
    Device(&'static str),
    /// An invalid name: empty, `.`, `..`, with a slash or a NUL, or longer than 255 bytes.
    Name,
    /// The name refers to another file than the one that was created.
    Replaced,
    /// The name is of the protected input.
    Input,
    /// The process lacks the privilege to set this owner or group, or its user namespace has no such number.
    Unowned(Errno),
    /// An invalid owner or group: the system interprets 4294967295 as "do not change".
    Owner(u32),
}

impl Refusal {
    pub fn action(&self) -> &'static str {
        match self {
            Refusal::Os(action, _) | Refusal::Device(action) => action,
            Refusal::Name => "cannot make an entry",
            Refusal::Replaced => "cannot continue with it",
            Refusal::Input => "cannot replace it",
            Refusal::Unowned(_) | Refusal::Owner(_) => "cannot set the owner",
        }
    }

    pub fn errno(&self) -> Option<Errno> {
        match self {
            Refusal::Os(_, errno) | Refusal::Unowned(errno) => Some(*errno),
            Refusal::Device(_) => Some(Errno::PERM),
            _ => None,
        }
    }

    /// Whether the file system, or the positions of the two names, do not allow the hard link. A copy is then possible.
    pub fn is_unlinkable(&self) -> bool {
        matches!(self.errno(), Some(Errno::XDEV | Errno::MLINK | Errno::PERM | Errno::NOTSUP | Errno::NOSYS))
    }

    /// The cause without its path.
    pub fn cause(&self) -> io::Error {
        match self {
            Refusal::Os(_, errno) => (*errno).into(),
            Refusal::Device(_) => io::Error::new(io::ErrorKind::PermissionDenied, DeviceRefused(Errno::PERM.into())),
            Refusal::Unowned(errno) => {
                let cause: io::Error = (*errno).into();
                io::Error::new(cause.kind(), OwnerRefused(cause))
            }
            Refusal::Name => io::Error::other("invalid name (expected 1 to 255 bytes, no slash, no NUL, not . or ..)"),
            Refusal::Replaced => io::Error::other("another entry replaced it in the meantime"),
            Refusal::Input => io::Error::other("it is the input itself (expected another destination)"),
            Refusal::Owner(id) => {
                io::Error::other(format!("{id} is not an owner or group (expected at most 4294967294)"))
            }
        }
    }

    pub fn at(&self, path: &Path) -> Error {
        Error::Io { path: path.to_owned(), action: self.action(), cause: self.cause() }
    }
}

/// The source of an [`io::Error`] about a device that the process lacks the privilege to create.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DeviceRefused(io::Error);

/// The source of an [`io::Error`] about an owner or group that this process cannot set.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OwnerRefused(io::Error);

/// Adds a phrase to the system's error.
pub(super) trait Tried<T> {
    fn tried(self, action: &'static str) -> Result<T, Refusal>;
}

impl<T> Tried<T> for rustix::io::Result<T> {
    fn tried(self, action: &'static str) -> Result<T, Refusal> {
        self.map_err(|errno| Refusal::Os(action, errno))
    }
}
