//! Converts the operating system's attributes of a file to an entry's kind and attributes.

use rustix::fs::{FileType, Stat};

use crate::{Device, Kind, Meta, Time};

/// Identifies a file on a machine by its device and inode number.
pub(crate) type FileId = (u64, u64);

pub(super) fn id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}

pub(super) fn meta(stat: &Stat) -> Meta {
    Meta { mode: (stat.st_mode & 0o7777) as u16, uid: stat.st_uid, gid: stat.st_gid, mtime: Time::of_stat(stat) }
}

/// A size in bytes. The system never returns a negative size.
pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Whether fewer blocks are stored than the size needs, because of holes or compression.
pub(super) fn is_sparse(stat: &Stat) -> bool {
    u64::try_from(stat.st_blocks).is_ok_and(|blocks| blocks.saturating_mul(512) < size(stat))
}

/// The kind of a file that is not a symbolic link. `None` for an unknown type.
pub(super) fn kind(stat: &Stat) -> Option<Kind> {
    Some(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File { size: size(stat) },
        FileType::Directory => Kind::Dir,
        FileType::BlockDevice => Kind::BlockDevice(device(stat)),
        FileType::CharacterDevice => Kind::CharDevice(device(stat)),
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::Symlink | FileType::Unknown => return None,
    })
}

fn device(stat: &Stat) -> Device {
    Device { major: rustix::fs::major(stat.st_rdev), minor: rustix::fs::minor(stat.st_rdev) }
}
