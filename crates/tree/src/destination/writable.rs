//! Existing directories that their owner may not change: their permissions are extended while files are written.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::attributes::Attributes;
use super::directory::{Directory, FileId};
use super::file::DestinationNode;
use super::refusal::{Refusal, Tried};

/// Permissions that an owner needs to list a directory, and to create and open files in it.
const ALL_OF_OWNER: u32 = 0o700;

/// A directory that is open for changes.
#[derive(Debug)]
pub struct WritableDirectory {
    pub directory: Directory,
    /// The old permissions, if they were extended. The caller sets the final permissions.
    pub before: Option<u16>,
}

impl Directory {
    /// Opens a subdirectory to change it. If it belongs to this process's user, who may not read, write and search it, its
    /// permissions are extended.
    ///
    /// # Errors
    /// See [`Directory::open`].
    pub fn open_writable(&self, name: &[u8]) -> Result<WritableDirectory, Refusal> {
        let open = || self.open(name);
        writable(open, || self.handle(name).tried("cannot open"))
    }

    /// Opens the root of a destination to change it, like [`Directory::root`] and [`Directory::open_writable`].
    ///
    /// # Errors
    /// See [`Directory::root`].
    pub fn root_writable(path: &Path) -> Result<WritableDirectory, Refusal> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = || rustix::fs::openat(CWD, path, flags, Mode::empty()).tried("cannot open");
        writable(|| Directory::root(path), handle)
    }

    /// Extends the permissions of this directory. Returns the old permissions, or `None` if they were sufficient.
    ///
    /// # Errors
    /// The directory cannot be examined.
    pub fn make_writable(&self) -> Result<Option<u16>, Refusal> {
        Ok(extend(&self.stat()?, self.attributes()))
    }

    /// A handle of a subdirectory that need not be readable.
    fn handle(&self, name: &[u8]) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self, name, flags, Mode::empty())
    }
}

/// Opens a directory with `open`. If its permissions deny this, they are extended through a handle first.
fn writable(
    open: impl Fn() -> Result<Directory, Refusal>,
    handle: impl FnOnce() -> Result<OwnedFd, Refusal>,
) -> Result<WritableDirectory, Refusal> {
    let refusal = match open() {
        Ok(directory) => {
            let before = directory.make_writable()?;
            return Ok(WritableDirectory { directory, before });
        }
        Err(refusal) => refusal,
    };
    if refusal.errno() != Some(Errno::ACCESS) {
        return Err(refusal);
    }
    let handle = handle()?;
    let stat = rustix::fs::fstat(&handle).tried("cannot examine it")?;
    let Some(before) = extend(&stat, DestinationNode::new(handle).attributes()) else { return Err(refusal) };
    let directory = open()?;
    if directory.id()? == FileId::of(&stat) {
        Ok(WritableDirectory { directory, before: Some(before) })
    } else {
        Err(Refusal::Replaced)
    }
}

/// Extends the permissions of a directory of this user, and returns the old permissions. Root needs no change.
fn extend(stat: &Stat, attributes: Attributes<'_>) -> Option<u16> {
    let user = rustix::process::geteuid();
    let directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let complete = stat.st_mode & ALL_OF_OWNER == ALL_OF_OWNER;
    if user.is_root() || stat.st_uid != user.as_raw() || !directory || complete {
        return None;
    }
    let before = (stat.st_mode & 0o7777) as u16;
    // An error is ignored: the calls that need the permissions then fail too.
    attributes.set_mode(before | ALL_OF_OWNER as u16).is_ok().then_some(before)
}
