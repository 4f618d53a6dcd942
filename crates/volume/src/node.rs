//! Nodes of a tree.

use std::fmt;

use packline_tree::{Device, Meta};

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
    /// Nanoseconds after the whole seconds of the time, below 1,000,000,000.
    pub nanoseconds: u32,
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
