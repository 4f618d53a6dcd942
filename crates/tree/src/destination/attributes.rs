//! Owner, permissions, extended attributes and time, set through a handle.
//!
//! The order matters: a change of owner clears set-uid, set-gid and capabilities, and every change updates times.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::refusal::{Refusal, Tried};
use crate::Xattr;

/// Sets the attributes of an open file.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    fd: BorrowedFd<'a>,
    /// The handle is `O_PATH`, which most calls on descriptors reject.
    place: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XattrRefusal {
    /// The file system does not support this namespace.
    Unsupported,
    /// The process lacks the privilege, or this type of file has no such attributes.
    Forbidden,
    Other(Refusal),
}

impl<'a> Attributes<'a> {
    pub(super) fn open(fd: BorrowedFd<'a>) -> Attributes<'a> {
        Attributes { fd, place: false }
    }

    pub(super) fn place(fd: BorrowedFd<'a>) -> Attributes<'a> {
        Attributes { fd, place: true }
    }

    /// Changes owner and group.
    ///
    /// # Errors
    /// [`Refusal::Owner`] for 4294967295; the system call fails.
    pub fn set_owner(self, uid: u32, gid: u32) -> Result<(), Refusal> {
        if let Some(none) = [uid, gid].into_iter().find(|&id| id == u32::MAX) {
            return Err(Refusal::Owner(none));
        }
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        if self.place {
            rustix::fs::chownat(self.fd, c"", uid, gid, AtFlags::EMPTY_PATH)
        } else {
            rustix::fs::fchown(self.fd, uid, gid)
        }
        .tried("cannot set the owner")
    }

    /// Changes permissions, all 12 bits, regardless of the umask. Not for symbolic links, which have none.
    pub fn set_mode(self, mode: u16) -> Result<(), Refusal> {
        let mode = Mode::from_raw_mode(u32::from(mode & 0o7777));
        if self.place {
            rustix::fs::chmodat(CWD, self.path().as_str(), mode, AtFlags::empty())
        } else {
            rustix::fs::fchmod(self.fd, mode)
        }
        .tried("cannot set the permissions")
    }

    /// Sets one extended attribute.
    ///
    /// # Errors
    /// [`XattrRefusal`].
    pub fn set_xattr(self, xattr: &Xattr) -> Result<(), XattrRefusal> {
        let (name, value, flags) = (xattr.name.as_slice(), xattr.value.as_slice(), XattrFlags::empty());
        let set = if self.place {
            rustix::fs::setxattr(self.path().as_str(), name, value, flags)
        } else {
            rustix::fs::fsetxattr(self.fd, name, value, flags)
        };
        set.map_err(|errno| match errno {
            Errno::NOTSUP => XattrRefusal::Unsupported,
            Errno::PERM | Errno::ACCESS => XattrRefusal::Forbidden,
            errno => XattrRefusal::Other(Refusal::Os("cannot set an extended attribute", errno)),
        })
    }

    /// Sets the times of access and modification, seconds since 1970.
    pub fn set_time(self, seconds: i64) -> Result<(), Refusal> {
        let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        if self.place {
            rustix::fs::utimensat(self.fd, c"", &times, AtFlags::EMPTY_PATH)
        } else {
            rustix::fs::futimens(self.fd, &times)
        }
        .tried("cannot set the time")
    }

    /// A path to the handle's file through `/proc`.
    fn path(self) -> String {
        format!("/proc/self/fd/{}", self.fd.as_raw_fd())
    }
}
