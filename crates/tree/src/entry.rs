//! One entry of a source: a path and all attributes, without content.

use packline_runtime::{EntryInfo, EntryKind};

use crate::Time;

/// Raw bytes of a path, an attribute name or a target. They need not be UTF-8.
pub type Bytes = Vec<u8>;

/// One extended attribute: the full name with its prefix (`user.mime_type`), and the value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xattr {
    pub name: Bytes,
    pub value: Bytes,
}

/// The major and minor number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    pub major: u32,
    pub minor: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, and its size in bytes including holes.
    File {
        size: u64,
    },
    Dir,
    /// A symbolic link, and its unchanged target.
    Symlink(Bytes),
    /// Another name of an inode, and the canonical path of one of its other names, which may come before or after.
    HardLink(Bytes),
    BlockDevice(Device),
    CharDevice(Device),
    Fifo,
    Socket,
}

/// Attributes that every inode has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meta {
    /// The lower 12 bits of `st_mode`: permissions, set-uid, set-gid, sticky.
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    /// Modification time.
    pub mtime: Time,
}

impl Meta {
    /// Attributes with a modification time in whole seconds since 1970.
    pub const fn new(mode: u16, uid: u32, gid: u32, seconds: i64) -> Meta {
        Meta { mode, uid, gid, mtime: Time::from_seconds(seconds) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The canonical path: components joined by single slashes, without leading or trailing slashes, `.` and `..`. The root is
    /// the empty path.
    pub path: Bytes,
    pub kind: Kind,
    /// Ignored for a [`Kind::HardLink`].
    pub meta: Meta,
    /// Extended attributes, unsorted. Each name occurs once.
    pub xattrs: Vec<Xattr>,
}

impl Entry {
    /// The entry as observers see it.
    pub fn info(&self) -> EntryInfo<'_> {
        let kind = match &self.kind {
            Kind::File { .. } => EntryKind::File,
            Kind::HardLink(target) => EntryKind::HardLink(target),
            _ => EntryKind::Other,
        };
        EntryInfo { path: &self.path, kind }
    }
}
