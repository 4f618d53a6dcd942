//! One difference between two trees.

use packline_tree::{Bytes, Device, Time};
use packline_volume::NodeType;

/// A difference at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Canonical path; empty for the root.
    pub path: Bytes,
    /// The kind of difference, with both values.
    pub what: What,
}

/// The kind of difference. Pairs are of the old and the new tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Only the old tree has the path. Entries below a directory are reported, too.
    OnlyOld(NodeType),
    /// Only the new tree has the path.
    OnlyNew(NodeType),
    /// Types. Nothing else is then compared.
    Type(NodeType, NodeType),
    /// The inode's form.
    Form {
        /// Whether the new inode, and not the old one, has the extended form.
        extended: bool,
    },
    /// Permission bits.
    Mode(u16, u16),
    /// Owner and group.
    Owner((u32, u32), (u32, u32)),
    /// Modification time, in whole seconds if nanoseconds are not compared.
    Time(Time, Time),
    /// Inode number.
    Number(u64, u64),
    /// Target of a symbolic link.
    Target(Bytes, Bytes),
    /// Device number.
    Device(Device, Device),
    /// Extended attributes of these names differ, or only one side has them.
    Xattrs(Vec<Bytes>),
    /// The path is a name of different files, or a further name in only one tree. The first name of a file is not reported.
    Links,
    /// Size of a regular file in bytes.
    Size(u64, u64),
    /// Content of a regular file of the same size: offset of the first byte that differs.
    Content(u64),
}
