//! Sets owner, permissions, extended attributes and time through a handle.
//!
//! The order is important: a change of owner clears set-uid, set-gid and capabilities, and every change updates times.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, fchown};

use rustix::fs::{AtFlags, Gid, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::refusal::{Refusal, Tried};
use crate::{Time, Xattr};

/// Sets the attributes of an open file.
///
/// Owners and permissions are set with functions of libc, which fakeroot and pseudo replace. rustix makes the system calls
/// `fchmod`, `fchown` and `chmodat` itself, so its functions for them are not used.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    file: &'a File,
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
    pub(super) fn open(file: &'a File) -> Attributes<'a> {
        Attributes { file, place: false }
    }

    pub(super) fn place(file: &'a File) -> Attributes<'a> {
        Attributes { file, place: true }
    }

    /// Changes owner and group.
    ///
    /// # Errors
    /// [`Refusal::Owner`] for 4294967295; [`Refusal::Unowned`] for an owner or group that this process may not set; the system
    /// call fails.
    pub fn set_owner(self, uid: u32, gid: u32) -> Result<(), Refusal> {
        if let Some(none) = [uid, gid].into_iter().find(|&id| id == u32::MAX) {
            return Err(Refusal::Owner(none));
        }
        let refused = |errno| match errno {
            Errno::PERM | Errno::INVAL => Refusal::Unowned(errno),
            errno => Refusal::Os("cannot set the owner", errno),
        };
        if !self.place {
            let set = fchown(self.file, Some(uid), Some(gid));
            return set.map_err(|cause| refused(Errno::from_io_error(&cause).unwrap_or(Errno::IO)));
        }
        let uid = Some(Uid::from_raw(uid));
        let gid = Some(Gid::from_raw(gid));
        match rustix::fs::chownat(self.file, c"", uid, gid, AtFlags::EMPTY_PATH) {
            // Linux does not return this error; some versions of libfakeroot do, because they look up the empty name. pseudo needs
            // the call above, because it would follow a symbolic link in this call.
            Err(Errno::NOENT) => rustix::fs::chown(self.path().as_str(), uid, gid),
            set => set,
        }
        .map_err(refused)
    }

    /// Changes all 12 permission bits, regardless of the umask. Must not be called for symbolic links, which have no permissions.
    pub fn set_mode(self, mode: u16) -> Result<(), Refusal> {
        let permissions = Permissions::from_mode(u32::from(mode & 0o7777));
        let set = if self.place {
            std::fs::set_permissions(self.path(), permissions)
        } else {
            self.file.set_permissions(permissions)
        };
        tried(set, "cannot set the permissions")
    }

    /// Sets one extended attribute.
    ///
    /// # Errors
    /// [`XattrRefusal`].
    pub fn set_xattr(self, xattr: &Xattr) -> Result<(), XattrRefusal> {
        let name = xattr.name.as_slice();
        let value = xattr.value.as_slice();
        let flags = XattrFlags::empty();
        let set = if self.place {
            rustix::fs::setxattr(self.path().as_str(), name, value, flags)
        } else {
            rustix::fs::fsetxattr(self.file, name, value, flags)
        };
        set.map_err(|errno| match errno {
            Errno::NOTSUP => XattrRefusal::Unsupported,
            Errno::PERM | Errno::ACCESS => XattrRefusal::Forbidden,
            errno => XattrRefusal::Other(Refusal::Os("cannot set an extended attribute", errno)),
        })
    }

    /// Sets the times of access and modification.
    pub fn set_time(self, time: Time) -> Result<(), Refusal> {
        let time = Timespec { tv_sec: time.seconds(), tv_nsec: time.nanoseconds().into() };
        let times = Timestamps { last_access: time, last_modification: time };
        if self.place {
            rustix::fs::utimensat(self.file, c"", &times, AtFlags::EMPTY_PATH)
        } else {
            rustix::fs::futimens(self.file, &times)
        }
        .tried("cannot set the time")
    }

    /// A path to the handle's file through `/proc`.
    fn path(self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }
}

/// Adds a phrase to an error of the standard library.
fn tried(done: io::Result<()>, action: &'static str) -> Result<(), Refusal> {
    done.map_err(|cause| Refusal::Os(action, Errno::from_io_error(&cause).unwrap_or(Errno::IO)))
}
