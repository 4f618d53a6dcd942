//! Inodes returned by the reader.

use packline_tree::{Device, Meta};

use super::metadata::MetaPlace;
use crate::TailPlace;

/// Position of an inode: start of its metadata block in the inode table << 16, and offset in the decompressed block. Two names of one inode
/// have the same reference: this, not the number, identifies an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeRef(pub u64);

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

impl NodeType {
    /// The type of a number in inodes and directory entries: 1 to 7.
    pub(crate) fn of(number: u16) -> Option<NodeType> {
        use NodeType::{BlockDevice, CharDevice, Directory, Fifo, File, Socket, Symlink};
        let all = [Directory, File, Symlink, BlockDevice, CharDevice, Fifo, Socket];
        all.get(usize::from(number).checked_sub(1)?).copied()
    }
}

#[derive(Debug, Clone)]
pub struct Inode {
    pub at: InodeRef,
    /// Permissions (12 bits), owner, group, time.
    pub meta: Meta,
    /// Inode number, 1 to the number of inodes.
    pub number: u32,
    /// Number of names in the inode; 1 for a basic file.
    pub links: u32,
    /// Index of its set of extended attributes.
    pub xattr: Option<u32>,
    /// Whether it has the extended form.
    pub extended: bool,
    /// Type and type-specific data.
    pub node: Node,
}

/// Type-specific part of an inode.
#[derive(Debug, Clone)]
pub enum Node {
    Directory(DirData),
    File(FileData),
    /// A symbolic link: its target, 1 to 65,535 bytes without NUL.
    Symlink(Vec<u8>),
    BlockDevice(Device),
    CharDevice(Device),
    Fifo,
    Socket,
}

/// Position of a regular file's content. Its block list is read on demand, by [`Image::blocks`](super::Image::blocks).
#[derive(Debug, Clone)]
pub struct FileData {
    /// Size in bytes, holes included.
    pub size: u64,
    /// Bytes in holes, by the inode (informational).
    pub sparse: u64,
    /// Offset of the first data block, bytes.
    pub start: u64,
    /// Number of size words.
    pub blocks: u64,
    /// The tail end, if it is in a fragment block.
    pub tail: Option<TailPlace>,
    /// Position of the size words.
    pub(crate) words: MetaPlace,
}

/// Position of a directory's listing.
#[derive(Debug, Clone)]
pub struct DirData {
    /// Length of the listing, bytes (the inode's size less 3).
    pub length: u32,
    /// Number of the parent's inode, by the inode.
    pub parent: u32,
    /// Number of index entries.
    pub indices: u16,
    /// Position of the listing.
    pub(crate) listing: MetaPlace,
    /// Position of the index.
    pub(crate) index: MetaPlace,
}

impl Inode {
    /// Its basic type.
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
