//! Attributes that an output takes from the file that it replaces, or from its source.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::escape::Escape;

/// Permission bits that are kept. The set-user-ID and set-group-ID bits are dropped because the content changes, as after any write.
const MODE: u32 = 0o1777;
const ACL: &str = "system.posix_acl_access";
/// Attributes that belong to the old content: its capabilities and its signatures.
const OF_CONTENT: [&str; 3] = ["security.capability", "security.ima", "security.evm"];
/// Longest list of names, and longest value, in Linux (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LONGEST: usize = 65_536;

/// Owner, permissions, times and extended attributes of a file.
#[derive(Debug, Clone)]
pub struct FileAttributes {
    about: Metadata,
    /// Permissions of the output.
    mode: u32,
    /// Whether the output gets the owner, and whether it gets the group. Without the group, the output's group has only the
    /// rights of others.
    owner: bool,
    group: bool,
    xattrs: Vec<(OsString, Vec<u8>)>,
    /// Extended attributes that cannot be read.
    unread: Vec<OsString>,
}

impl FileAttributes {
    /// The attributes that an output takes from its open source: owner, permissions, access control list and times.
    ///
    /// # Errors
    /// The metadata cannot be read.
    pub fn of_source(file: &File) -> io::Result<FileAttributes> {
        let acl = value(file, ACL).ok().flatten().map(|acl| (OsString::from(ACL), acl));
        Ok(FileAttributes::new(file.metadata()?, acl.into_iter().collect(), Vec::new()))
    }

    /// The attributes that an output takes from the file that it replaces; `None` if that file is not a regular file. The file
    /// need not be readable.
    pub(super) fn of_replaced(path: &Path) -> Option<FileAttributes> {
        let about = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
        let mut xattrs = Vec::new();
        let mut unread = Vec::new();
        for name in names(path) {
            match read(|buffer| rustix::fs::lgetxattr(path, &name, buffer)) {
                Ok(Some(value)) => xattrs.push((name, value)),
                Ok(None) => {}
                Err(_) => unread.push(name),
            }
        }
        Some(FileAttributes::new(about, xattrs, unread))
    }

    fn new(about: Metadata, xattrs: Vec<(OsString, Vec<u8>)>, unread: Vec<OsString>) -> FileAttributes {
        FileAttributes { mode: about.mode() & MODE, about, owner: true, group: true, xattrs, unread }
    }

    /// The attributes of an output that reveals the content of two files: a user who cannot read both cannot read the output.
    #[must_use]
    pub fn common_with(mut self, other: &FileAttributes) -> FileAttributes {
        self.mode &= other.mode;
        self.owner &= other.owner && self.about.uid() == other.about.uid();
        // With an access control list, the permissions of the group are the list's.
        self.group &= other.group && self.about.gid() == other.about.gid() && self.xattrs == other.xattrs;
        if !self.group {
            self.xattrs.clear();
        }
        self
    }

    /// The same with at most these permissions.
    #[must_use]
    pub(super) fn limited_to(&self, mode: u32) -> FileAttributes {
        FileAttributes { mode: self.mode & mode, ..self.clone() }
    }

    pub fn about(&self) -> &Metadata {
        &self.about
    }

    /// Gives `file` the owner, the permissions and the extended attributes. Returns the attributes that it cannot have, for a
    /// message. If the file cannot have the group, its own group gets at most the rights of others.
    pub(super) fn apply(&self, file: &File) -> io::Result<Vec<String>> {
        let own = file.metadata()?;
        let mut mode = self.mode;
        let mut unkept = Vec::new();
        let (has_owner, has_group) = self.change_owner(file, &own);
        if !has_owner {
            unkept.push("its owner".to_string());
        }
        if !has_group {
            unkept.push("its group".to_string());
        }
        let acl = self.apply_acl(file, has_group);
        if !(has_group && acl) {
            mode &= !0o070 | (mode & 0o007) << 3;
        }
        if !acl {
            unkept.push("its access control list".to_string());
        }
        file.set_permissions(Permissions::from_mode(mode))?;
        for (name, wanted) in self.xattrs.iter().filter(|(name, _)| name != ACL) {
            let has = value(file, name).is_ok_and(|found| found.as_ref() == Some(wanted));
            if !has && rustix::fs::fsetxattr(file, name, wanted, XattrFlags::empty()).is_err() {
                unkept.push(format!("its attribute {}", name.escaped()));
            }
        }
        unkept.extend(self.unread.iter().map(|name| format!("its attribute {}", name.escaped())));
        Ok(unkept)
    }

    pub(super) fn apply_times(&self, file: &File) -> io::Result<()> {
        file.set_times(FileTimes::new().set_accessed(self.about.accessed()?).set_modified(self.about.modified()?))
    }

    /// Returns whether `file` has the owner now, and whether it has the group.
    fn change_owner(&self, file: &File, own: &Metadata) -> (bool, bool) {
        let uid = self.owner.then(|| self.about.uid());
        let gid = self.group.then(|| self.about.gid());
        let same_owner = uid.is_none_or(|uid| own.uid() == uid);
        let same_group = gid.is_none_or(|gid| own.gid() == gid);
        if (same_owner && same_group) || fchown(file, uid, gid).is_ok() {
            return (true, self.group);
        }
        // Without the privilege, an owner can choose among its own groups.
        (same_owner, self.group && (same_group || fchown(file, None, gid).is_ok()))
    }

    /// Gives `file` the access control list, or removes a list that it has from its directory. Returns whether it has the right list.
    fn apply_acl(&self, file: &File, has_group: bool) -> bool {
        let wanted = self.xattrs.iter().find(|(name, _)| name == ACL).map(|(_, acl)| acl);
        let found = value(file, ACL).ok().flatten();
        if let Some(acl) = wanted {
            // With another group, the list's entry for the owning group would be about the wrong group.
            if has_group && rustix::fs::fsetxattr(file, ACL, acl, XattrFlags::empty()).is_ok() {
                return true;
            }
        }
        remove_acl(file, found.is_some()) && wanted.is_none()
    }
}

fn remove_acl(file: &File, present: bool) -> bool {
    !present || rustix::fs::fremovexattr(file, ACL).is_ok()
}

/// The names of the extended attributes that are kept; empty if the file system has no attributes.
fn names(path: &Path) -> Vec<OsString> {
    let list = read(|buffer| rustix::fs::llistxattr(path, buffer)).ok().flatten().unwrap_or_default();
    let names = list.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| OsString::from_vec(name.to_vec()));
    names.filter(|name| !OF_CONTENT.iter().any(|other| name.as_bytes() == other.as_bytes())).collect()
}

/// The value of an attribute of an open file; `None` if the file does not have the attribute.
fn value(file: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<Option<Vec<u8>>> {
    read(|buffer| rustix::fs::fgetxattr(file.as_fd(), name, buffer))
}

fn read(
    fill: impl FnOnce(rustix::buffer::SpareCapacity<'_, u8>) -> rustix::io::Result<usize>,
) -> rustix::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(LONGEST);
    match fill(spare_capacity(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        Err(errno) => Err(errno),
    }
}
