//! Inodes returned by the reader, and all inodes in the order of the inode table, whether a directory lists them or not.

use super::metadata::{Cursor, MetaPlace};
use super::{Image, ReadError};
use crate::TailPlace;
use packline_engine::CancelToken;
use packline_runtime::unless_cancelled;
use packline_tree::{Device, Meta};
use packline_volume as volume;
use packline_volume::{NodeType, OpaquePosition};

/// Position of an inode: start of its metadata block in the inode table << 16, and offset in the decompressed block. Two names of one inode have
/// the same reference. The reference, not the number, identifies an inode.
pub use packline_volume::NodeId as InodeRef;

/// Marks a file without a tail end, in a [`OpaquePosition`].
const NO_TAIL: u64 = u64::MAX;

/// Returns the type of a number in inodes and directory entries: 1 to 7.
pub(crate) fn node_type(number: u16) -> Option<NodeType> {
    use NodeType::{BlockDevice, CharDevice, Directory, Fifo, File, Socket, Symlink};
    let all = [Directory, File, Symlink, BlockDevice, CharDevice, Fifo, Socket];
    all.get(usize::from(number).checked_sub(1)?).copied()
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
    /// Index of the set of extended attributes.
    pub xattr: Option<u32>,
    /// Whether the inode has the extended form.
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

/// Position of a regular file's content. [`Image::blocks`](super::Image::blocks) reads the block list on demand.
#[derive(Debug, Clone)]
pub struct FileData {
    /// Size in bytes, holes included.
    pub size: u64,
    /// Bytes in holes, as the inode says (informational).
    pub sparse: u64,
    /// Offset of the first data block in bytes.
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
    /// Number of the parent's inode, as the directory says; 0 in versions before 3.0, which do not store it.
    pub parent: u32,
    /// Number of index entries.
    pub indices: u16,
    /// Position of the listing.
    pub(crate) listing: MetaPlace,
    /// Position of the index.
    pub(crate) index: MetaPlace,
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

impl FileData {
    /// Unpacks the position in an opaque place.
    pub fn of(file: &volume::FileData) -> FileData {
        let OpaquePosition([start, blocks, tail, block, offset]) = file.place;
        let tail = (tail != NO_TAIL).then_some(TailPlace { fragment: (tail >> 32) as u32, offset: tail as u32 });
        let words = MetaPlace { block, offset: offset as u16 };
        FileData { size: file.size, sparse: file.sparse, start, blocks, tail, words }
    }
}

impl DirData {
    /// Unpacks the position in an opaque place.
    pub fn of(directory: &volume::Directory) -> DirData {
        let OpaquePosition([lengths, listing, offsets, index, parent]) = directory.place;
        DirData {
            length: lengths as u32,
            parent: parent as u32,
            indices: (lengths >> 32) as u16,
            listing: MetaPlace { block: listing, offset: offsets as u16 },
            index: MetaPlace { block: index, offset: (offsets >> 16) as u16 },
        }
    }
}

impl From<FileData> for volume::FileData {
    fn from(file: FileData) -> volume::FileData {
        let FileData { size, sparse, start, blocks, tail, words } = file;
        let tail = tail.map_or(NO_TAIL, |tail| u64::from(tail.fragment) << 32 | u64::from(tail.offset));
        volume::FileData {
            size,
            sparse,
            place: OpaquePosition([start, blocks, tail, words.block, words.offset.into()]),
        }
    }
}

impl From<DirData> for volume::Directory {
    fn from(directory: DirData) -> volume::Directory {
        let DirData { length, parent, indices, listing, index } = directory;
        let lengths = u64::from(indices) << 32 | u64::from(length);
        let offsets = u64::from(index.offset) << 16 | u64::from(listing.offset);
        volume::Directory {
            // The size that the kernel shows: the listing, and three bytes for `.` and `..`.
            size: u64::from(length) + 3,
            parent: (parent > 0).then_some(parent.into()),
            place: OpaquePosition([lengths, listing.block, offsets, index.block, parent.into()]),
        }
    }
}

impl From<Inode> for volume::Inode {
    fn from(inode: Inode) -> volume::Inode {
        let Inode { at, meta, number, links, xattr, extended, node } = inode;
        let node = match node {
            Node::Directory(directory) => volume::Node::Directory(directory.into()),
            Node::File(file) => volume::Node::File(file.into()),
            Node::Symlink(target) => volume::Node::Symlink(target),
            Node::BlockDevice(device) => volume::Node::BlockDevice(device),
            Node::CharDevice(device) => volume::Node::CharDevice(device),
            Node::Fifo => volume::Node::Fifo,
            Node::Socket => volume::Node::Socket,
        };
        let number = number.into();
        let xattr = xattr.map(u64::from);
        volume::Inode { at, meta, number, links, xattr, extended, node }
    }
}

/// Inodes between two checks for cancellation.
const CANCEL_INTERVAL: u64 = 1 << 12;

/// Calls `visit` with each inode of the table and the offset of its metadata block.
///
/// # Errors
/// [`ReadError::Corrupt`] and [`ReadError::Input`] for the first inode that cannot be read, because the inodes after it cannot be found;
/// [`ReadError::Work`].
pub(crate) fn each_inode(
    image: &Image,
    cancel: &CancelToken,
    mut visit: impl FnMut(&Inode, u64),
) -> Result<(), ReadError> {
    let area = image.tables().inodes;
    let most = if image.has_exact_blocks() { u64::MAX } else { image.superblock().inodes.into() };
    let mut place = MetaPlace { block: area.start, offset: 0 };
    let mut cursor = image.inode_cursor(place);
    let mut number = 0u64;
    while place.block < area.end && number < most {
        let reference = (place.block - area.start) << 16 | u64::from(place.offset);
        let inode = image.inode_with(&mut cursor, InodeRef(reference))?;
        skip_lists(&inode, &mut cursor)?;
        visit(&inode, place.block);
        place = cursor.place();
        number += 1;
        if number.is_multiple_of(CANCEL_INTERVAL) {
            unless_cancelled(cancel)?;
        }
    }
    Ok(())
}

/// Skips the lists after an inode: size words, or a directory's index.
fn skip_lists(inode: &Inode, cursor: &mut Cursor) -> Result<(), ReadError> {
    match &inode.node {
        Node::File(file) => cursor.skip(file.blocks * cursor.layout().word_bytes()),
        Node::Directory(directory) => {
            for _ in 0..directory.indices {
                let length = index_name(cursor)?;
                cursor.skip(length)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Skips the start of an index entry: position u32, block u32, then the length of the name less one, u32. Versions 2 and 3 store the length in a
/// byte, version 2 the position and the block in seven. Returns the length of the name.
fn index_name(cursor: &mut Cursor) -> Result<u64, ReadError> {
    let length = match cursor.layout().major {
        2 => {
            cursor.skip(7)?;
            cursor.array::<1>()?[0].into()
        }
        3 => {
            cursor.skip(8)?;
            cursor.array::<1>()?[0].into()
        }
        _ => {
            cursor.skip(8)?;
            cursor.read_u32()?
        }
    };
    Ok(u64::from(length) + 1)
}
