//! Reads extended attributes through an open file or, without one, through its directory in `/proc/self/fd`.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::fault::{Fault, Tried};
use crate::{Bytes, Error, Xattr};

/// Longest list of names, and longest value, in Linux (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LONGEST: usize = 65_536;

/// The size of the buffer of a first call. The kernel allocates a buffer as large as the caller's, so a list that is nearly
/// always short or empty is not asked for with a buffer for the longest one.
const SHORT: usize = 256;

/// Buffers for reading attributes. Each thread has its own.
#[derive(Default)]
pub struct XattrReader {
    names: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
}

/// The file whose attributes are read.
enum Subject<'a> {
    Open(BorrowedFd<'a>),
    /// If the last component is a symbolic link, it is followed only if `followed`.
    Path {
        path: &'a [u8],
        followed: bool,
    },
}

impl XattrReader {
    /// The extended attributes of an open file. `path` is the file's path, for messages.
    pub fn of_file(&mut self, file: impl AsFd, path: &Path) -> Result<Vec<Xattr>, Error> {
        self.open(file).map_err(|fault| fault.at(path))
    }

    /// Reads from an open file.
    pub(crate) fn open(&mut self, file: impl AsFd) -> Result<Vec<Xattr>, Fault> {
        self.read(&Subject::Open(file.as_fd()))
    }

    /// Reads from the file `name` in an open directory. The file need not be readable. A symbolic link is followed only if
    /// `followed`. `fallback` is the file's path, used if `/proc` is not mounted.
    pub(crate) fn below(
        &mut self,
        directory: impl AsFd,
        name: &[u8],
        followed: bool,
        fallback: &Path,
    ) -> Result<Vec<Xattr>, Fault> {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.extend_from_slice(format!("/proc/self/fd/{}/", directory.as_fd().as_raw_fd()).as_bytes());
        path.extend_from_slice(name);
        let found = self.read(&Subject::Path { path: &path, followed });
        self.path = path;
        match found {
            Err(Fault::Os(_, Errno::NOENT)) => self.read(&Subject::Path { path: bytes(fallback), followed }),
            found => found,
        }
    }

    fn read(&mut self, subject: &Subject<'_>) -> Result<Vec<Xattr>, Fault> {
        let mut names = std::mem::take(&mut self.names);
        let found = self.read_named(subject, &mut names);
        self.names = names;
        found
    }

    fn read_named(&mut self, subject: &Subject<'_>, names: &mut Vec<u8>) -> Result<Vec<Xattr>, Fault> {
        list(subject, names)?;
        let mut xattrs = Vec::new();
        for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            if let Some(value) = self.value(subject, name)? {
                xattrs.push(Xattr { name: name.to_vec(), value });
            }
        }
        // The order of a file system must not decide about the bytes of a tar.
        xattrs.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(xattrs)
    }

    /// `None` if the attribute was removed after it was listed.
    fn value(&mut self, subject: &Subject<'_>, name: &[u8]) -> Result<Option<Bytes>, Fault> {
        let found = fill(&mut self.value, |buffer| match subject {
            Subject::Open(fd) => rustix::fs::fgetxattr(fd, name, buffer),
            Subject::Path { path, followed: true } => rustix::fs::getxattr(*path, name, buffer),
            Subject::Path { path, followed: false } => rustix::fs::lgetxattr(*path, name, buffer),
        });
        match found {
            Ok(()) => Ok(Some(self.value.clone())),
            Err(Errno::NODATA) => Ok(None),
            Err(errno) => Err(Fault::Os("cannot read an extended attribute", errno)),
        }
    }
}

fn list(subject: &Subject<'_>, names: &mut Vec<u8>) -> Result<(), Fault> {
    let found = fill(names, |buffer| match subject {
        Subject::Open(fd) => rustix::fs::flistxattr(fd, buffer),
        Subject::Path { path, followed: true } => rustix::fs::listxattr(*path, buffer),
        Subject::Path { path, followed: false } => rustix::fs::llistxattr(*path, buffer),
    });
    match found {
        Err(Errno::NOTSUP) => Ok(()),
        found => found.tried("cannot list extended attributes"),
    }
}

/// Fills the vector by a call with a short buffer and, only if the result is longer, by a call with the longest buffer.
fn fill(into: &mut Vec<u8>, mut call: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<()> {
    into.resize(SHORT, 0);
    let found = match call(into) {
        Err(Errno::RANGE) => {
            into.resize(LONGEST, 0);
            call(into)
        }
        found => found,
    };
    into.truncate(found.unwrap_or(0));
    found.map(drop)
}

fn bytes(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}

/// The path of an entry below the source's root.
pub(super) fn join(root: &Path, entry: &[u8]) -> PathBuf {
    let below: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(entry);
    if entry.is_empty() { root.to_owned() } else { root.join(below) }
}
