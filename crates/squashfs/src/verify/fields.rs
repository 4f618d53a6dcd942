//! Checks fields of inodes that reading ignores.

use super::finding::Report;
use crate::format::inode::{NO_FRAGMENT, NO_XATTR};
use crate::read::{FileData, Image, Inode, Node, NodeType, ReadError};

/// Bits of the permissions that hold the type in other file systems.
const TYPE_BITS: u16 = 0xf000;

/// Checks an inode's fields that do not affect the tree. `offset` is the offset of its metadata block.
pub(super) fn check(image: &Image, inode: &Inode, offset: u64, report: &mut Report<'_>) -> Result<(), ReadError> {
    let raw = image.raw_inode(inode)?;
    let bits = raw.mode & TYPE_BITS;
    if bits != 0 && bits != type_bits(inode.node_type()) {
        let what = format!("inode {}, a {}, with mode {:#o}", inode.number, inode.node_type(), raw.mode);
        report.fault(offset, what, "permissions, and above them nothing or the same type");
    }
    if raw.xattr != NO_XATTR && image.tables().xattrs.is_none() {
        let what = format!("inode {} has set {} of extended attributes", inode.number, raw.xattr);
        report.fault(offset, what, "none, in an image without a table of them");
    }
    if let Node::File(file) = &inode.node {
        let tail = raw.fragment.is_some_and(|(index, _)| index != NO_FRAGMENT);
        file_fields(image, inode, (file, tail), offset, report);
    }
    Ok(())
}

fn file_fields(image: &Image, inode: &Inode, (file, tail): (&FileData, bool), offset: u64, report: &mut Report<'_>) {
    let FileData { size, sparse, .. } = *file;
    if tail && size % u64::from(image.superblock().block_size) == 0 {
        let what = format!("inode {}, a file of {size} bytes, with a tail end", inode.number);
        report.fault(offset, what, "none in a file of whole blocks");
    }
    if sparse > size {
        let what = format!("inode {} with {sparse} bytes in holes", inode.number);
        report.fault(offset, what, format!("at most {size}, the size of the file"));
    }
}

/// Returns the type in POSIX's numbering.
fn type_bits(kind: NodeType) -> u16 {
    match kind {
        NodeType::Fifo => 0o010_000,
        NodeType::CharDevice => 0o020_000,
        NodeType::Directory => 0o040_000,
        NodeType::BlockDevice => 0o060_000,
        NodeType::File => 0o100_000,
        NodeType::Symlink => 0o120_000,
        NodeType::Socket => 0o140_000,
    }
}
