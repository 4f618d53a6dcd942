//! Nodes of a tree, and entries of directories.

use crate::ReadError;
use packline_tree::{Device, Meta};
use std::fmt;

/// Identifies a node in its volume: two names with the same id are one file. Inode numbers may repeat in a hostile image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// Basic type, also used in directory entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeType {
    Directory,
    File,
    Symlink,
    BlockDevice,
    CharDevice,
    Fifo,
    Socket,
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NodeType::Directory => "directory",
            NodeType::File => "regular file",
            NodeType::Symlink => "symbolic link",
            NodeType::BlockDevice => "block device",
            NodeType::CharDevice => "character device",
            NodeType::Fifo => "named pipe",
            NodeType::Socket => "socket",
        })
    }
}

/// A position in a volume that only the container understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaquePosition(pub [u64; 5]);

#[derive(Debug, Clone)]
pub struct Inode {
    pub at: NodeId,
    /// Permissions (12 bits), owner, group, time.
    pub meta: Meta,
    /// Number that `stat` shows.
    pub number: u64,
    /// Number of names in the inode.
    pub links: u32,
    /// Identifies the set of extended attributes: nodes with the same id have the same set. `None` without attributes.
    pub xattr: Option<u64>,
    /// Whether the inode has the larger of the container's two forms of inodes.
    pub extended: bool,
    /// Type and type-specific data.
    pub node: Node,
}

/// Type-specific part of an inode.
#[derive(Debug, Clone)]
pub enum Node {
    Directory(Directory),
    File(FileData),
    /// A symbolic link: its target, 1 to 65,535 bytes without NUL.
    Symlink(Vec<u8>),
    BlockDevice(Device),
    CharDevice(Device),
    Fifo,
    Socket,
}

/// A directory, whose listing is read on demand.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Size that `stat` shows in bytes.
    pub size: u64,
    /// Number of the parent's inode, if the directory says it.
    pub parent: Option<u64>,
    pub place: OpaquePosition,
}

/// A regular file, whose pieces are read on demand.
#[derive(Debug, Clone)]
pub struct FileData {
    /// Size in bytes, holes included.
    pub size: u64,
    /// Bytes in holes, as the inode says (informational).
    pub sparse: u64,
    pub place: OpaquePosition,
}

impl Inode {
    pub fn node_type(&self) -> NodeType {
        match self.node {
            Node::Directory(_) => NodeType::Directory,
            Node::File(_) => NodeType::File,
            Node::Symlink(_) => NodeType::Symlink,
            Node::BlockDevice(_) => NodeType::BlockDevice,
            Node::CharDevice(_) => NodeType::CharDevice,
            Node::Fifo => NodeType::Fifo,
            Node::Socket => NodeType::Socket,
        }
    }
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// 1 to 255 bytes, no slash, no NUL, neither `.` nor `..`; greater than the name before it.
    pub name: Vec<u8>,
    pub inode: NodeId,
    /// The inode's number in the entry.
    pub number: u64,
    /// The inode's type in the entry.
    pub kind: NodeType,
}

/// Fields of an entry except its name.
#[derive(Debug, Clone, Copy)]
pub struct EntryFields {
    pub inode: NodeId,
    pub number: u64,
    pub kind: NodeType,
}

/// The entries of one directory as the container reads them, in the order of their names. The listing ends after the first error.
pub trait Entries: fmt::Debug + Send {
    /// Returns the next entry. [`Entries::name`] is then its name.
    fn step(&mut self) -> Option<Result<EntryFields, ReadError>>;

    /// Returns the name of the last entry read.
    fn name(&self) -> &[u8];

    /// Frees memory that only the next entry needs.
    fn release(&mut self) {}
}

/// The entries of one directory, in the order of their names. The iterator ends after the first error.
#[derive(Debug)]
pub struct Listing(pub Box<dyn Entries>);

impl Iterator for Listing {
    type Item = Result<DirEntry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let listed = self.0.step()?;
        Some(listed.map(|EntryFields { inode, number, kind }| DirEntry {
            name: self.0.name().to_vec(),
            inode,
            number,
            kind,
        }))
    }
}
