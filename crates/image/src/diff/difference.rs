//! One difference between two trees.

use packline_squashfs::read::NodeType;
use packline_tree::{Bytes, Device};

/// Something that differs at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Canonical path; empty for the root.
    pub path: Bytes,
    /// What differs.
    pub what: What,
}

/// What differs. Pairs are of the old and the new tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Only the old tree has it. What is below a directory is told of too.
    OnlyOld(NodeType),
    /// Only the new tree has it.
    OnlyNew(NodeType),
    /// The type. Nothing else is compared then.
    Type(NodeType, NodeType),
    /// The inode's form: whether the new one is extended.
    Form {
        /// Whether the new inode, and not the old one, has the extended form.
        extended: bool,
    },
    /// Permission bits.
    Mode(u16, u16),
    /// Owner and group.
    Owner((u32, u32), (u32, u32)),
    /// Modification time, seconds since 1970.
    Time(i64, i64),
    /// Inode number.
    Number(u32, u32),
    /// Target of a symbolic link.
    Target(Bytes, Bytes),
    /// Device number.
    Device(Device, Device),
    /// Extended attributes of these names differ, or only one side has them.
    Xattrs(Vec<Bytes>),
    /// It is another name of another file, or of none. The path of the first name of the file is not told.
    Links,
    /// Size of a regular file, bytes.
    Size(u64, u64),
    /// Content of a regular file of the same size: the first byte that differs.
    Content(u64),
}
