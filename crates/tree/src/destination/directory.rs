//! An open directory of the destination, and what is made in it by name.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::attributes::Attributes;
use super::file::DestinationFile;
use super::node::DestinationNode;
use super::refusal::{Refusal, Tried};
use packline_runtime::FileIdentity;

use crate::Kind;
use crate::path::MAX_COMPONENT;

/// How a directory is opened for use: never through a link.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
/// On a way of several names: no link is followed, and nothing leads up.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
/// Longest way that is gone at once, bytes: Linux takes 4,096 with the NUL behind it.
const WAY_MOST: usize = 4095;
/// Permissions of everything while it is being made: nobody else looks in.
const PRIVATE: u32 = 0o600;

/// Which file it is, as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    /// Number of the device of its file system.
    pub device: u64,
    /// Number of its inode.
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

/// An open directory. All names given to it are single components; none is followed if it is a symbolic link.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    /// What is neither replaced nor removed in it.
    kept: Option<FileId>,
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Directory {
    fn from_fd(fd: OwnedFd) -> Directory {
        Directory { fd, kept: None }
    }

    /// Another directory, in which the same file is kept.
    pub(super) fn with(&self, fd: OwnedFd) -> Directory {
        Directory { fd, kept: self.kept }
    }

    /// Opens the root of a destination: the one path that may lead through links.
    ///
    /// # Errors
    /// There is no such directory, or it may not be read.
    pub fn root(path: &Path) -> Result<Directory, Refusal> {
        let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
        let fd = retry_on_intr(|| rustix::fs::openat(CWD, path, flags, Mode::empty())).tried("cannot open")?;
        Ok(Directory::from_fd(fd))
    }

    /// The same directory, in and below which one file is neither replaced nor removed: what the tree is read from.
    pub fn keeping(self, file: Option<FileId>) -> Directory {
        Directory { kept: file, ..self }
    }

    /// Refuses to touch the file that is kept.
    fn check_kept(&self, name: &[u8]) -> Result<(), Refusal> {
        let Some(kept) = self.kept else { return Ok(()) };
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileId::of(&found) == kept => Err(Refusal::Input),
            _ => Ok(()),
        }
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    /// It is not there, may not be read, or is something else (`ENOTDIR` also for a link).
    pub fn open(&self, name: &[u8]) -> Result<Directory, Refusal> {
        check(name)?;
        let open = || rustix::fs::openat(&self.fd, name, DIRECTORY, Mode::empty());
        Ok(self.with(retry_on_intr(open).tried("cannot open")?))
    }

    /// Opens the directory that `names` lead to, each in the one before; `None` for no names. The system is asked once for
    /// as many names as it takes, or for each, where it does not know how to go a way without following links.
    ///
    /// # Errors
    /// As [`open`](Self::open) for each of the names.
    pub fn open_way(&self, names: &[&[u8]]) -> Result<Option<Directory>, Refusal> {
        let (mut found, mut rest) = (None::<Directory>, names);
        while !rest.is_empty() {
            let from = found.as_ref().unwrap_or(self);
            let (directory, gone) = from.open_some(rest)?;
            rest = &rest[gone..];
            found = Some(directory);
        }
        Ok(found)
    }

    /// Goes the first of `names`, as far as one call leads; how many.
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
            // An older kernel, or one that is told to know nothing of it; or something is being renamed.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::INVAL) => Ok((self.open(names[0])?, 1)),
            opened => Ok((self.with(opened.tried("cannot open")?), gone)),
        }
    }

    /// Makes a directory in this one that only its owner may use, and opens it.
    ///
    /// # Errors
    /// The system refuses; `EEXIST` if there is anything under the name.
    pub fn make(&self, name: &[u8]) -> Result<Directory, Refusal> {
        check(name)?;
        rustix::fs::mkdirat(&self.fd, name, Mode::RWXU).tried("cannot create")?;
        self.open(name)
    }

    /// Makes a regular file that only its owner may use, open to be written.
    ///
    /// # Errors
    /// The system refuses; `EEXIST` if there is anything under the name.
    pub fn create(&self, name: &[u8]) -> Result<DestinationFile, Refusal> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        check(name)?;
        let open = || rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(PRIVATE));
        Ok(DestinationFile::new(retry_on_intr(open).tried("cannot create")?))
    }

    /// Opens a file that was made here before.
    ///
    /// # Errors
    /// [`Refusal::Replaced`] if it is not that file any more; the system refuses.
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

    /// Makes a symbolic link. The target is stored, never looked at.
    ///
    /// # Errors
    /// The system refuses; `EEXIST` if there is anything under the name.
    pub fn symlink(&self, name: &[u8], target: &[u8]) -> Result<DestinationNode, Refusal> {
        check(name)?;
        rustix::fs::symlinkat(target, &self.fd, name).tried("cannot create")?;
        self.node(name, FileType::Symlink)
    }

    /// Makes a device, a named pipe or a socket that only its owner may use.
    ///
    /// # Errors
    /// The system refuses (devices need privileges); `EEXIST` if there is anything under the name; `EINVAL` if `kind` is
    /// neither.
    pub fn special(&self, name: &[u8], kind: &Kind) -> Result<DestinationNode, Refusal> {
        check(name)?;
        let (kind, device) = match kind {
            Kind::BlockDevice(device) => (FileType::BlockDevice, rustix::fs::makedev(device.major, device.minor)),
            Kind::CharDevice(device) => (FileType::CharacterDevice, rustix::fs::makedev(device.major, device.minor)),
            Kind::Fifo => (FileType::Fifo, 0),
            Kind::Socket => (FileType::Socket, 0),
            _ => return Err(Refusal::Os("cannot create", Errno::INVAL)),
        };
        rustix::fs::mknodat(&self.fd, name, kind, Mode::from_raw_mode(PRIVATE), device).tried("cannot create")?;
        self.node(name, kind)
    }

    /// A handle of what was just made here, unless someone put something else in its place: another type, or a second
    /// name of something that exists elsewhere.
    fn node(&self, name: &[u8], kind: FileType) -> Result<DestinationNode, Refusal> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).tried("cannot open")?;
        let stat = rustix::fs::fstat(&fd).tried("cannot look at it")?;
        let made = FileType::from_raw_mode(stat.st_mode) == kind && stat.st_nlink <= 1;
        if made { Ok(DestinationNode::new(fd)) } else { Err(Refusal::Replaced) }
    }

    /// Gives what is called `name` here another name, in `to`. A symbolic link gets the name itself.
    ///
    /// # Errors
    /// The system refuses; `EEXIST` if there is anything under the new name.
    pub fn link(&self, name: &[u8], to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        check(new)?;
        rustix::fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty()).tried("cannot link")
    }

    /// Moves what is called `name` here to `new` in `to`, in place of what is there, which is not followed.
    ///
    /// # Errors
    /// [`Refusal::Input`]; the system refuses; `EISDIR` if the new name is that of a directory.
    pub fn rename(&self, name: &[u8], to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        check(new)?;
        to.check_kept(new)?;
        rustix::fs::renameat(&self.fd, name, &to.fd, new).tried("cannot put it in place")
    }

    /// Moves what is called `name` here to `new`, also here, where there must be nothing, or an empty directory if the
    /// file system cannot tell.
    ///
    /// # Errors
    /// The system refuses; `EEXIST` if there is anything under the new name.
    pub fn rename_new(&self, name: &[u8], new: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        check(new)?;
        match rustix::fs::renameat_with(&self.fd, name, &self.fd, new, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(&self.fd, name, &self.fd, new),
            other => other,
        }
        .tried("cannot put it in place")
    }

    /// Removes what is called `name` here, if it is no directory. That there is nothing is no error.
    ///
    /// # Errors
    /// [`Refusal::Input`]; the system refuses; `EISDIR` for a directory.
    pub fn unlink(&self, name: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        self.check_kept(name)?;
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other.tried("cannot remove"),
        }
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The system refuses; `ENOTEMPTY` if there is something in it.
    pub fn remove_directory(&self, name: &[u8]) -> Result<(), Refusal> {
        check(name)?;
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).tried("cannot remove")
    }

    /// Whether there is nothing in it but, perhaps, an entry called `ignored`.
    ///
    /// # Errors
    /// The system refuses to list it.
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

    /// Which directory it is.
    ///
    /// # Errors
    /// The system refuses to tell.
    pub fn id(&self) -> Result<FileId, Refusal> {
        Ok(FileId::of(&self.stat()?))
    }

    /// Its owner.
    ///
    /// # Errors
    /// The system refuses to tell.
    pub fn owner(&self) -> Result<u32, Refusal> {
        Ok(self.stat()?.st_uid)
    }

    fn stat(&self) -> Result<Stat, Refusal> {
        rustix::fs::fstat(&self.fd).tried("cannot look at it")
    }

    /// Locks it against other processes that lock it too; false if one of them has. The lock ends with the handle.
    ///
    /// # Errors
    /// The file system knows no locks.
    pub fn lock(&self) -> Result<bool, Refusal> {
        match retry_on_intr(|| rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive)) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            other => other.map(|()| true).tried("cannot lock"),
        }
    }

    /// Puts everything written to its file system on the medium.
    ///
    /// # Errors
    /// The system could not write something.
    pub fn sync_file_system(&self) -> Result<(), Refusal> {
        rustix::fs::syncfs(&self.fd).tried("cannot sync")
    }

    /// Its attributes, to be set.
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes::open(self.fd.as_fd())
    }
}

/// Refuses what is no single name.
fn check(name: &[u8]) -> Result<(), Refusal> {
    let single = !matches!(name, b"" | b"." | b"..") && name.len() <= MAX_COMPONENT;
    if single && memchr::memchr2(b'/', 0, name).is_none() { Ok(()) } else { Err(Refusal::Name) }
}
