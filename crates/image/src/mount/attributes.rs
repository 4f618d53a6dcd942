//! Inodes as the kernel wants them.

use std::time::{Duration, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo};
use packline_squashfs::read::{Image, Inode, Node, NodeType};
use packline_tree::Device;

/// Bytes that `st_blocks` counts in.
const SECTOR: u64 = 512;

/// The type of an entry.
pub(super) fn file_type(kind: NodeType) -> FileType {
    match kind {
        NodeType::Directory => FileType::Directory,
        NodeType::File => FileType::RegularFile,
        NodeType::Symlink => FileType::Symlink,
        NodeType::BlockDevice => FileType::BlockDevice,
        NodeType::CharDevice => FileType::CharDevice,
        NodeType::Fifo => FileType::NamedPipe,
        NodeType::Socket => FileType::Socket,
    }
}

/// All attributes of an inode that shows this number.
pub(super) fn attributes(image: &Image, number: INodeNo, inode: &Inode) -> FileAttr {
    let (size, rdev) = size_and_device(&inode.node);
    let holes = if let Node::File(file) = &inode.node { file.sparse.min(size) } else { 0 };
    FileAttr {
        size,
        blocks: (size - holes).div_ceil(SECTOR),
        perm: inode.meta.mode,
        nlink: inode.links,
        uid: inode.meta.uid,
        gid: inode.meta.gid,
        rdev,
        ..blank(number, file_type(inode.node_type()), inode.meta.mtime, image)
    }
}

/// The attributes of an inode that cannot be read: it exists.
pub(super) fn unreadable(image: &Image, number: INodeNo, kind: NodeType) -> FileAttr {
    blank(number, file_type(kind), 0, image)
}

/// The reply for an absent entry, which the kernel caches.
pub(super) fn absent(image: &Image) -> FileAttr {
    blank(INodeNo(0), FileType::RegularFile, 0, image)
}

fn blank(ino: INodeNo, kind: FileType, mtime: i64, image: &Image) -> FileAttr {
    let time = UNIX_EPOCH + Duration::from_secs(mtime.max(0) as u64);
    FileAttr {
        ino,
        size: 0,
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm: 0,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: image.superblock().block_size.into(),
        flags: 0,
    }
}

/// The size of a directory is that of its listing, as the kernel's SquashFS shows it.
fn size_and_device(node: &Node) -> (u64, u32) {
    match node {
        Node::File(file) => (file.size, 0),
        Node::Directory(directory) => (u64::from(directory.length) + 3, 0),
        Node::Symlink(target) => (target.len() as u64, 0),
        Node::BlockDevice(device) | Node::CharDevice(device) => (0, device_number(*device)),
        Node::Fifo | Node::Socket => (0, 0),
    }
}

/// The kernel's 32 bits of a device number: 12 of the major number between 8 low and 12 high ones of the minor number.
fn device_number(device: Device) -> u32 {
    (device.minor & 0xff) | ((device.major & 0xfff) << 8) | ((device.minor & 0xfff00) << 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_are_the_kernels() {
        assert_eq!(device_number(Device { major: 8, minor: 1 }), 0x801);
        assert_eq!(device_number(Device { major: 0xabc, minor: 0x12345 }), 0x123a_bc45);
    }
}
