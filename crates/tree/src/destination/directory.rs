//! An open directory of the destination, and files created in it by name.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use packline_runtime::FileIdentity;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, Stat, StatxFlags,
};
use rustix::io::{Errno, retry_on_intr};

use super::attributes::Attributes;
use super::file::DestinationFile;
use super::file::DestinationNode;
use super::refusal::{Refusal, Tried};
use crate::path::MAX_COMPONENT;
use crate::{Device, Kind};

/// Open flags for directories. Links are never followed.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
/// For several components: no link is followed, and `..` is not allowed.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
/// Longest path that is opened in one call, in bytes. Linux's limit of 4,096 includes the NUL.
const WAY_MOST: usize = 4095;
/// Permissions of files under construction.
const PRIVATE: u32 = 0o600;

/// Identifies a file as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    pub device: u64,
    pub inode: u64,
}

impl FileId {
    /// The id of an opened file; `None` for a device.
    pub fn of_identity(identity: FileIdentity) -> Option<FileId> {
        identity.device_and_inode().map(|(device, inode)| FileId { device, inode })
    }

    pub(super) fn of(stat: &Stat) -> FileId {
        FileId { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// An open directory. All names passed to it are single components. A symbolic link is never followed.
#[derive(Debug)]
pub struct Directory {
    fd: File,
    /// A file that must not be replaced or removed.
    protected: Option<FileId>,
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Directory {
    fn from_fd(fd: OwnedFd) -> Directory {
        Directory { fd: fd.into(), protected: None }
    }

    /// Another directory with the same protected file.
    pub(super) fn with(&self, fd: OwnedFd) -> Directory {
        Directory { fd: fd.into(), protected: self.protected }
    }

    /// Opens the root of a destination. Only in this path are links followed.
    ///
    /// # Errors
    /// The directory does not exist or is not readable.
    pub fn root(path: &Path) -> Result<Directory, Refusal> {
        let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
        let fd = retry_on_intr(|| rustix::fs::openat(CWD, path, flags, Mode::empty())).tried("cannot open")?;
        Ok(Directory::from_fd(fd))
    }

    /// Protects a file, the input of the tree, from being replaced or removed in this directory and below.
    pub fn protecting(self, file: Option<FileId>) -> Directory {
        Directory { protected: file, ..self }
    }

    /// Fails if a name is of the protected file.
    fn check_protected(&self, name: &[u8]) -> Result<(), Refusal> {
        let Some(protected) = self.protected else { return Ok(()) };
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileId::of(&found) == protected => Err(Refusal::Input),
            _ => Ok(()),
        }
    }

    /// Opens a subdirectory.
    ///
    /// # Errors
    /// It does not exist, is not readable, or is not a directory (`ENOTDIR`, also for a link).
    pub fn open(&self, name: &[u8]) -> Result<Directory, Refusal> {
        check(name)?;
        let open = || rustix::fs::openat(&self.fd, name, DIRECTORY, Mode::empty());
        Ok(self.with(retry_on_intr(open).tried("cannot open")?))
    }

    /// Opens the directory at the path `names`, relative to this directory. `None` if there are no names. Uses as few system
    /// calls as possible, or one for each name if the system cannot resolve a path without following links.
    ///
    /// # Errors
    /// See [`open`](Self::open), for each of the names.
    pub fn open_way(&self, names: &[&[u8]]) -> Result<Option<Directory>, Refusal> {
        let mut found = None::<Directory>;
        let mut rest = names;
        while !rest.is_empty() {
            let from = found.as_ref().unwrap_or(self);
            let (directory, gone) = from.open_some(rest)?;
            rest = &rest[gone..];
            found = Some(directory);
        }
        Ok(found)
    }

    /// Opens the longest prefix of `names` that one call resolves. Also returns its length.
    fn open_some(&self, names: &[&[u8]]) -> Result<(Directory, usize), Refusal> {
        let mut way = Vec::new();
        let fits = |way: &Vec<u8>, name: &[u8]| way.is_empty() || way.len() + 1 + name.len() <= WAY_MOST;
        let mut gone = 0;
        for name in names {
            check(name)?;
            if !fits(&way, name) {
                break;
            }
            way.extend_from_slice(if gone > 0 { b"/" } else { b"" });
            way.extend_from_slice(name);
            gone += 1;
        }
        let open = || rustix::fs::openat2(&self.fd, way.as_slice(), DIRECTORY, Mode::empty(), BENEATH);
        match retry_on_intr(open) {
            // The reason is an older kernel, a seccomp filter, or a concurrent rename.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::INVAL) => Ok((self.open(names[0])?, 1)),
            opened => Ok((self.with(known_to_libc(opened.tried("cannot open")?)), gone)),
        }
    }

    /// Creates and opens a subdirectory with permissions for its owner only.
    ///
    /// # Errors
    /// The system call fails; `EEXIST` if the name exists.
    pub fn make(&self, name: &[u8]) -> Result<Directory, Refusal> {
        check(name)?;
        rustix::fs::mkdirat(&self.fd, name, Mode::RWXU).tried("cannot create")?;
        self.open(name)
    }

    /// Creates a regular file with permissions for its owner only, open for writing.
    ///
    /// # Errors
    /// The system call fails; `EEXIST` if the name exists.
    pub fn create(&self, name: &[u8]) -> Result<DestinationFile, Refusal> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        check(name)?;
        let open = || rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(PRIVATE));
        Ok(DestinationFile::new(retry_on_intr(open).tried("cannot create")?))
    }

    /// Opens a file that was created in this directory before.
    ///
    /// # Errors
    /// [`Refusal::Replaced`] if another file has the name now; the system call fails.
    pub fn reopen(&self, name: &[u8], id: FileId) -> Result<DestinationFile, Refusal> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        check(name)?;
        let open = || rustix::fs::openat(&self.fd, name, flags, Mode::empty());
        let fd = retry_on_intr(open).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOENT | Errno::ISDIR | Errno::NXIO => Refusal::Replaced,
            errno => Refusal::Os("cannot open", errno),
        })?;
        let file = DestinationFile::new(fd);
        if file.id()? == id { Ok(file) } else { Err(Refusal::Replaced) }
    }

    /// Creates a symbolic link. The target is stored unchecked.
    ///
    /// # Errors
    /// The system call fails; `EEXIST` if the name exists.
    pub fn symlink(&self, name: &[u8], target: &[u8]) -> Result<DestinationNode, Refusal> {
        check(name)?;
        rustix::fs::symlinkat(target, &self.fd, name).tried("cannot create symlink")?;
        self.node(name, FileType::Symlink)
    }

    /// Creates a device, a named pipe or a socket with permissions for its owner only.
    ///
    /// # Errors
    /// The system call fails (devices need privileges); `EEXIST` if the name exists; `EINVAL` for other kinds.
    pub fn special(&self, name: &[u8], kind: &Kind) -> Result<DestinationNode, Refusal> {
        check(name)?;
        let number = |device: &Device| rustix::fs::makedev(device.major, device.minor);
        let (kind, device, action) = match kind {
            Kind::BlockDevice(device) => (FileType::BlockDevice, number(device), "cannot create block device"),
            Kind::CharDevice(device) => (FileType::CharacterDevice, number(device), "cannot create character device"),
            Kind::Fifo => (FileType::Fifo, 0, "cannot create fifo"),
            Kind::Socket => (FileType::Socket, 0, "cannot create socket"),
            _ => return Err(Refusal::Os("cannot create", Errno::INVAL)),
        };
        match rustix::fs::mknodat(&self.fd, name, kind, Mode::from_raw_mode(PRIVATE), device) {
            Err(Errno::PERM) if device != 0 => Err(Refusal::Device(action)),
            made => made.tried(action),
        }?;
        self.node(name, kind)
    }

    /// A handle of the file just created, unless another process replaced it by another type, or by another name of another file.
    fn node(&self, name: &[u8], kind: FileType) -> Result<DestinationNode, Refusal> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).tried("cannot open")?;
        let stat = rustix::fs::fstat(&fd).tried("cannot examine it")?;
        let made = FileType::from_raw_mode(stat.st_mode) == kind && stat.st_nlink <= 1;
        if made { Ok(DestinationNode::new(fd)) } else { Err(Refusal::Replaced) }
    }

    /// Creates the hard link `new` in `to` to the file `name`. A symbolic link is not followed.
    ///
    /// # Errors
    /// The system call fails; `EEXIST` if the new name exists.
    pub fn link(&self, name: &[u8], to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        check(new)?;
        rustix::fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty()).tried("cannot link")
    }

    /// Moves `name` to `new` in `to`, replacing any file there without following it.
    ///
    /// # Errors
    /// [`Refusal::Input`]; the system call fails; `EISDIR` if the new name is a directory.
    pub fn rename(&self, name: &[u8], to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        check(new)?;
        to.check_protected(new)?;
        rustix::fs::renameat(&self.fd, name, &to.fd, new).tried("cannot put it in place")
    }

    /// Moves `name` to `new` in `to`. The new name must not exist. If the file system cannot check this atomically, an empty
    /// directory is replaced.
    ///
    /// # Errors
    /// The system call fails; `EEXIST` if the new name exists.
    pub fn rename_new(&self, name: &[u8], to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        check(new)?;
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new, RenameFlags::NOREPLACE) {
            // Old filters of system calls answer EPERM to calls that they do not know.
            Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => {
                match rustix::fs::statat(&to.fd, new, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Directory => Err(Errno::EXIST),
                    _ => rustix::fs::renameat(&self.fd, name, &to.fd, new),
                }
            }
            other => other,
        }
        .tried("cannot put it in place")
    }

    /// Removes a file that is not a directory. A missing file is not an error.
    ///
    /// # Errors
    /// [`Refusal::Input`]; the system call fails; `EISDIR` for a directory.
    pub fn unlink(&self, name: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        self.check_protected(name)?;
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other.tried("cannot remove"),
        }
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The system call fails; `ENOTEMPTY` if it is not empty.
    pub fn remove_directory(&self, name: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).tried("cannot remove")
    }

    /// Whether the directory has no entries except `ignored`.
    pub fn is_empty_but(&self, ignored: &[u8]) -> Result<bool, Refusal> {
        for entry in Dir::read_from(&self.fd).tried("cannot list")? {
            let entry = entry.tried("cannot list")?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") && name != ignored {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn id(&self) -> Result<FileId, Refusal> {
        Ok(FileId::of(&self.stat()?))
    }

    /// Whether a file can be moved between this directory and another: both must be on the same mount of one file system.
    ///
    /// # Errors
    /// One of them cannot be examined.
    pub fn shares_mount(&self, other: &Directory) -> Result<bool, Refusal> {
        let same_device = self.stat()?.st_dev == other.stat()?.st_dev;
        Ok(same_device && self.mount_id() == other.mount_id())
    }

    /// The number of the directory's mount. `None` before Linux 5.8.
    fn mount_id(&self) -> Option<u64> {
        // Not an empty path, which pseudo does not support.
        let found = rustix::fs::statx(&self.fd, c".", AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
    }

    /// The user id of its owner.
    pub fn owner(&self) -> Result<u32, Refusal> {
        Ok(self.stat()?.st_uid)
    }

    pub(super) fn stat(&self) -> Result<Stat, Refusal> {
        rustix::fs::fstat(&self.fd).tried("cannot examine it")
    }

    /// Takes an advisory lock. Returns false if another process has it. The lock ends with the handle.
    ///
    /// # Errors
    /// The file system does not support locks.
    pub fn lock(&self) -> Result<bool, Refusal> {
        match retry_on_intr(|| rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive)) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            other => other.map(|()| true).tried("cannot lock"),
        }
    }

    /// Flushes all writes to the directory's file system to the medium.
    ///
    /// # Errors
    /// A write failed.
    pub fn sync_file_system(&self) -> Result<(), Refusal> {
        rustix::fs::syncfs(&self.fd).tried("cannot sync")
    }

    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::open(&self.fd)
    }
}

/// Opens the directory again with a call of libc. libc has no `openat2`, and pseudo rejects descriptors that were not opened
/// through libc.
fn known_to_libc(fd: OwnedFd) -> OwnedFd {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
    rustix::fs::openat(CWD, path.as_str(), flags, Mode::empty()).unwrap_or(fd)
}

/// Rejects a name that is not a single component.
fn check(name: &[u8]) -> Result<(), Refusal> {
    let single = !matches!(name, b"" | b"." | b"..") && name.len() <= MAX_COMPONENT;
    if single && memchr::memchr2(b'/', 0, name).is_none() { Ok(()) } else { Err(Refusal::Name) }
}
