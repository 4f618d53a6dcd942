//! Inodes as the reader hands them out.

use packline_tree::{Device, Meta};

use super::metadata::MetaPlace;
use crate::TailPlace;

/// Where an inode lies: start of its metadata block in the inode table << 16, and offset in the decompressed block. Two names
/// of one inode have the same reference: this, not the number, is an inode's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeRef(pub u64);

/// Basic type, as directory entries have it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
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
    /// The type of a number, as inodes and directory entries have it: 1 to 7.
    pub(crate) fn of(number: u16) -> Option<NodeType> {
        use NodeType::{BlockDevice, CharDevice, Directory, Fifo, File, Socket, Symlink};
        let all = [Directory, File, Symlink, BlockDevice, CharDevice, Fifo, Socket];
        all.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// One inode.
#[derive(Debug, Clone)]
pub struct Inode {
    /// Where it lies.
    pub at: InodeRef,
    /// Permissions (12 bits), owner, group, time.
    pub meta: Meta,
    /// Inode number, 1 to the number of inodes.
    pub number: u32,
    /// Names that the image says it has; 1 for a basic file.
    pub links: u32,
    /// Index of its set of extended attributes.
    pub xattr: Option<u32>,
    /// Whether it has the extended form.
    pub extended: bool,
    /// What it is.
    pub node: Node,
}

/// What an inode is, and what only that has.
#[derive(Debug, Clone)]
pub enum Node {
    /// A directory.
    Directory(DirData),
    /// A regular file.
    File(FileData),
    /// A symbolic link: its target, 1 to 65,535 bytes without NUL.
    Symlink(Vec<u8>),
    /// A block device.
    BlockDevice(Device),
    /// A character device.
    CharDevice(Device),
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
}

/// Where a regular file's content lies. Its block list is read lazily, by [`Image::blocks`](super::Image::blocks).
#[derive(Debug, Clone)]
pub struct FileData {
    /// Size in bytes, holes included.
    pub size: u64,
    /// Bytes in holes, as the inode says (informs only).
    pub sparse: u64,
    /// Offset of the first data block, bytes.
    pub start: u64,
    /// Number of size words.
    pub blocks: u64,
    /// The tail end, if it is in a fragment block.
    pub tail: Option<TailPlace>,
    /// Where the size words are.
    pub(crate) words: MetaPlace,
}

/// Where a directory's listing lies.
#[derive(Debug, Clone)]
pub struct DirData {
    /// Length of the listing, bytes (the inode's size less 3).
    pub length: u32,
    /// Number of the parent's inode, as the inode says.
    pub parent: u32,
    /// Number of index entries.
    pub indices: u16,
    /// Where the listing is.
    pub(crate) listing: MetaPlace,
    /// Where the index is.
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
