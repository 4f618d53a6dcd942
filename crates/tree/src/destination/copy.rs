//! Copies an entry of the destination if a hard link is not possible.

use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::attributes::Attributes;
use super::directory::{Directory, FileId};
use super::file::DestinationFile;
use super::refusal::{Refusal, Tried};
use crate::{Device, Kind, Time, Xattr};

/// Longest list of names, and longest value, of extended attributes in Linux, in bytes.
const XATTR_MOST: usize = 64 << 10;

impl Directory {
    /// Copies the entry `name`, which is not a directory, to the new name `new` in `to`, with its holes and its attributes. Skips
    /// an owner and extended attributes that cannot be set.
    ///
    /// # Errors
    /// The system call fails. The new name then does not exist.
    pub fn copy_entry(&self, name: &[u8], to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        let stat = rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW).tried("cannot copy")?;
        let copied = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.copy_file(name, &stat, to, new),
            FileType::Symlink => self.copy_symlink(name, &stat, to, new),
            _ => copy_special(&stat, to, new),
        };
        if copied.as_ref().is_err_and(|refusal| refusal.errno() != Some(Errno::EXIST)) {
            let _: Result<(), Refusal> = to.unlink(new);
        }
        copied
    }

    fn copy_file(&self, name: &[u8], stat: &Stat, to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let open = || rustix::fs::openat(self, name, flags, Mode::empty());
        let source = DestinationFile::new(retry_on_intr(open).tried("cannot copy")?);
        if source.id()? != FileId::of(stat) {
            return Err(Refusal::Replaced);
        }
        let copy = to.create(new)?;
        copy.copy(&source, u64::try_from(stat.st_size).unwrap_or(0))?;
        let attributes = copy.attributes();
        let _: Result<(), Refusal> = attributes.set_owner(stat.st_uid, stat.st_gid);
        copy_xattrs(&source, attributes);
        set_rest(stat, attributes)
    }

    fn copy_symlink(&self, name: &[u8], stat: &Stat, to: &Directory, new: &[u8]) -> Result<(), Refusal> {
        let target = rustix::fs::readlinkat(self, name, Vec::new()).tried("cannot copy")?;
        let link = to.symlink(new, target.to_bytes())?;
        let _: Result<(), Refusal> = link.attributes().set_owner(stat.st_uid, stat.st_gid);
        link.attributes().set_time(Time::of_stat(stat))
    }
}

fn copy_special(stat: &Stat, to: &Directory, new: &[u8]) -> Result<(), Refusal> {
    let device = Device { major: rustix::fs::major(stat.st_rdev), minor: rustix::fs::minor(stat.st_rdev) };
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Kind::BlockDevice(device),
        FileType::CharacterDevice => Kind::CharDevice(device),
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        _ => return Err(Refusal::Os("cannot copy", Errno::INVAL)),
    };
    let node = to.special(new, &kind)?;
    let _: Result<(), Refusal> = node.attributes().set_owner(stat.st_uid, stat.st_gid);
    set_rest(stat, node.attributes())
}

/// Sets permissions and time.
fn set_rest(stat: &Stat, attributes: Attributes<'_>) -> Result<(), Refusal> {
    attributes.set_mode((stat.st_mode & 0o7777) as u16)?;
    attributes.set_time(Time::of_stat(stat))
}

/// Copies all extended attributes that can be read and set.
fn copy_xattrs(source: &DestinationFile, attributes: Attributes<'_>) {
    let mut names = Vec::with_capacity(XATTR_MOST);
    if rustix::fs::flistxattr(source.as_fd(), spare_capacity(&mut names)).is_err() {
        return;
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = Vec::with_capacity(XATTR_MOST);
        if rustix::fs::fgetxattr(source.as_fd(), name, spare_capacity(&mut value)).is_ok() {
            let _ = attributes.set_xattr(&Xattr { name: name.to_vec(), value });
        }
    }
}
