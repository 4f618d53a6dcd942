//! Inodes with their type-specific data.

use std::sync::Arc;

use packline_volume::{Directory, FileData, Inode, Node, NodeId, NodeType, ReadError};

use super::contents::{Content, Contents};
use super::data::{DataPlace, address_of, shown_number};
use super::span::Cursor;
use crate::format::corrupt;
use crate::format::inode::{EXTENDED_BYTES, Layout, RawInode, SLOT_BYTES};
use crate::format::superblock::Superblock;

/// Longest target of a symbolic link in bytes.
const LONGEST_TARGET: u64 = 65_535;

/// Reads inodes of an image.
#[derive(Debug, Clone)]
pub(crate) struct Inodes {
    superblock: Arc<Superblock>,
    contents: Arc<Contents>,
    /// Neighbours are in the same page.
    cursor: Cursor,
}

/// The fields of an inode and its position.
pub(crate) struct PlacedInode {
    /// Address of the inode.
    pub(crate) address: u64,
    pub(crate) raw: RawInode,
}

impl PlacedInode {
    /// Returns the address of the extended attributes.
    pub(crate) fn xattrs(&self) -> u64 {
        self.address + self.raw.bytes()
    }

    pub(crate) fn place(&self) -> DataPlace {
        let RawInode { layout, start, size, xattr_bytes, .. } = self.raw;
        DataPlace { layout, end: self.xattrs() + xattr_bytes, start, size }
    }
}

impl Inodes {
    pub(super) fn new(superblock: &Arc<Superblock>, contents: &Arc<Contents>) -> Inodes {
        let cursor = contents.store().cursor(0);
        Inodes { superblock: Arc::clone(superblock), contents: Arc::clone(contents), cursor }
    }

    /// Reads the fields of an inode.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the inode breaks a rule or is not in the image, [`ReadError::Input`].
    pub(crate) fn fields(&mut self, node: NodeId) -> Result<PlacedInode, ReadError> {
        let address = address_of(&self.superblock, node);
        self.cursor.seek(address);
        let mut bytes = [0; EXTENDED_BYTES];
        let slot: [u8; SLOT_BYTES] = self.cursor.array()?;
        bytes[..SLOT_BYTES].copy_from_slice(&slot);
        if RawInode::is_extended(&slot) {
            self.cursor.read_exact(&mut bytes[SLOT_BYTES..])?;
        }
        Ok(PlacedInode { address, raw: RawInode::decode(&self.superblock, address, &bytes)? })
    }

    /// Reads an inode.
    ///
    /// # Errors
    /// Errors of [`Inodes::fields`]; errors of reading the target of a symbolic link.
    pub(super) fn inode(&mut self, node: NodeId) -> Result<Inode, ReadError> {
        let placed = self.fields(node)?;
        let place = placed.place();
        let DataPlace { size, .. } = place;
        let body = match placed.raw.kind {
            NodeType::Directory => Node::Directory(Directory { size, parent: None, place: place.pack() }),
            NodeType::File => Node::File(FileData { size, sparse: 0, place: place.pack() }),
            NodeType::Symlink => Node::Symlink(self.target(placed.address, &place)?),
            NodeType::BlockDevice => Node::BlockDevice(placed.raw.device),
            NodeType::CharDevice => Node::CharDevice(placed.raw.device),
            NodeType::Fifo => Node::Fifo,
            NodeType::Socket => Node::Socket,
        };
        let RawInode { meta, links, extended, xattr_bytes, .. } = placed.raw;
        let number = shown_number(&self.superblock, node);
        let xattr = (xattr_bytes > 0).then_some(node.0);
        Ok(Inode { at: node, meta, number, links, xattr, extended, node: body })
    }

    fn target(&mut self, address: u64, place: &DataPlace) -> Result<Vec<u8>, ReadError> {
        let DataPlace { layout, end, size, .. } = *place;
        if !(1..=LONGEST_TARGET).contains(&size) {
            return Err(corrupt(address, format!("symbolic link of {size} bytes"), "1 to 65535"));
        }
        let mut target = Vec::new();
        let block = self.superblock.block_size();
        if layout == Layout::Inline && end % block + size <= block {
            self.cursor.seek(end);
            self.cursor.read_to(size, &mut target)?;
        } else {
            Content::cursor(&self.contents, *place, 0).read_to(size, &mut target)?;
        }
        if memchr::memchr(0, &target).is_some() {
            return Err(corrupt(address, "symbolic link with a NUL byte in its target", "a target without NUL"));
        }
        Ok(target)
    }
}
