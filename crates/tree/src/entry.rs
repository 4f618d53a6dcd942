//! One entry of a source: a path and all attributes, without content.

use packline_runtime::{EntryInfo, EntryKind};

/// Raw bytes of a path, an attribute name or a target; not necessarily UTF-8.
pub type Bytes = Vec<u8>;

/// One extended attribute: full name with its prefix (`user.mime_type`) and value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xattr {
    pub name: Bytes,
    pub value: Bytes,
}

/// A device number, split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    pub major: u32,
    pub minor: u32,
}

/// Type of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file; its size in bytes, holes included.
    File {
        size: u64,
    },
    Dir,
    /// A symbolic link; its target unchanged.
    Symlink(Bytes),
    /// A further name of an inode; the canonical path of another name of it, which may come before or after.
    HardLink(Bytes),
    BlockDevice(Device),
    CharDevice(Device),
    Fifo,
    Socket,
}

/// Attributes that every inode has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// The lower 12 bits of `st_mode`: permissions, set-uid, set-gid, sticky.
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    /// Modification time, whole seconds since 1970, rounded down; may be negative.
    pub mtime: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Canonical path: components joined by single slashes, no leading or trailing slash, no `.` and no `..`. The root is the empty path.
    pub path: Bytes,
    pub kind: Kind,
    /// Ignored for a [`Kind::HardLink`].
    pub meta: Meta,
    /// Extended attributes, unsorted, each name once.
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
