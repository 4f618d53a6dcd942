//! Attributes of inodes in the form that the kernel needs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo};
use packline_tree::{Device, Time};
use packline_volume::{Inode, Node, NodeType, SharedVolume};

/// Unit of `st_blocks` in bytes.
const SECTOR: u64 = 512;

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

/// Returns all attributes of an inode that shows this number.
pub(super) fn attributes(volume: &SharedVolume, number: INodeNo, inode: &Inode) -> FileAttr {
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
        ..blank(number, file_type(inode.node_type()), system_time(inode.meta.mtime), volume)
    }
}

/// Returns the attributes of an inode that exists but cannot be read.
pub(super) fn unreadable(volume: &SharedVolume, number: INodeNo, kind: NodeType) -> FileAttr {
    blank(number, file_type(kind), UNIX_EPOCH, volume)
}

/// Returns the reply for an absent entry, which the kernel caches.
pub(super) fn absent(volume: &SharedVolume) -> FileAttr {
    blank(INodeNo(0), FileType::RegularFile, UNIX_EPOCH, volume)
}

/// Returns a time before or after 1970. Times that the system cannot represent become 1970.
fn system_time(time: Time) -> SystemTime {
    let seconds = Duration::from_secs(time.seconds().unsigned_abs());
    let whole = if time.seconds() < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
    let nanoseconds = Duration::from_nanos(time.nanoseconds().into());
    whole.and_then(|whole| whole.checked_add(nanoseconds)).unwrap_or(UNIX_EPOCH)
}

fn blank(ino: INodeNo, kind: FileType, time: SystemTime, volume: &SharedVolume) -> FileAttr {
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
        blksize: volume.facts().block_size,
        flags: 0,
    }
}

fn size_and_device(node: &Node) -> (u64, u32) {
    match node {
        Node::File(file) => (file.size, 0),
        Node::Directory(directory) => (directory.size, 0),
        Node::Symlink(target) => (target.len() as u64, 0),
        Node::BlockDevice(device) | Node::CharDevice(device) => (0, device_number(*device)),
        Node::Fifo | Node::Socket => (0, 0),
    }
}

/// Returns the kernel's 32 bits of a device number: 12 bits of the major number between 8 low and 12 high bits of the minor number.
fn device_number(device: Device) -> u32 {
    (device.minor & 0xff) | ((device.major & 0xfff) << 8) | ((device.minor & 0xfff00) << 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_count_nanoseconds_forward() {
        let half = Duration::from_millis(500);
        assert_eq!(system_time(Time::new(2, 500_000_000)), UNIX_EPOCH + 2 * Duration::from_secs(1) + half);
        assert_eq!(system_time(Time::new(-1, 500_000_000)), UNIX_EPOCH - half);
        assert_eq!(
            system_time(Time::new(-315_619_200, 500_000_000)),
            UNIX_EPOCH - Duration::new(315_619_199, 500_000_000)
        );
    }

    #[test]
    fn device_numbers_are_the_kernels() {
        assert_eq!(device_number(Device { major: 8, minor: 1 }), 0x801);
        assert_eq!(device_number(Device { major: 0xabc, minor: 0x12345 }), 0x123a_bc45);
    }
}
