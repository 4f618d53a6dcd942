//! Listings: the entries `.` and `..` lead to the right directories, and unused bytes are zero. The walk checks names and types.

use packline_volume::{NodeId, ReadError, Report};

use super::inode::{omits_dot, shown};
use super::layout::NamedInode;
use crate::format::METABOX;
use crate::format::dirent::RawEntry;
use crate::read::Image;
use crate::read::data::node_of;
use crate::read::directory::Blocks;

/// Type of a directory in an entry.
const DIRECTORY: u8 = 2;

/// Checks the entries `.` and `..` of a directory, which must lead to the `targets`.
pub(super) fn check(
    image: &Image,
    inode: NamedInode<'_>,
    targets: [NodeId; 2],
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    let mut blocks = Blocks::new(image.shared_superblock(), image.contents(), inode.placed.place());
    let mut found = [false; 2];
    for index in 0..blocks.count() {
        // The walk reports what cannot be read.
        if blocks.load(index).is_err() {
            return Ok(());
        }
        let Ok(block) = blocks.block() else { return Ok(()) };
        for number in 0..block.entries() {
            let Ok(entry) = blocks.entry(&block, number) else { return Ok(()) };
            let dots = match entry.name {
                b"." => 0,
                b".." => 1,
                _ => continue,
            };
            found[dots] = true;
            dot(inode, &entry, targets[dots], report)?;
        }
        if let Some(end) = block.stray_end() {
            let what = format!("bytes that are not zero after the names, at {end} of block {index} of a directory");
            report.note(inode.placed.address & !METABOX, what, "zeros");
        }
    }
    let omits = omits_dot(image, inode)?;
    for (name, is_there, expected) in [(".", found[0], !omits), ("..", found[1], true)] {
        if is_there != expected {
            let what = format!("directory {} entry \"{name}\"", if is_there { "with an" } else { "without an" });
            let expected = if expected { "such an entry" } else { "none, as its inode says" };
            inode.fault(inode.placed.address, what, expected, report)?;
        }
    }
    Ok(())
}

fn dot(inode: NamedInode<'_>, entry: &RawEntry<'_>, target: NodeId, report: &mut Report<'_>) -> Result<(), ReadError> {
    let name = entry.name.escape_ascii();
    match node_of(entry.inode, inode.placed.address) {
        Ok(node) if node == target && entry.kind == DIRECTORY => Ok(()),
        Ok(node) => {
            let what = format!("entry \"{name}\" of type {} that leads to inode {}", entry.kind, shown(node));
            let expected = format!("type {DIRECTORY} and inode {}", shown(target));
            inode.fault(inode.placed.address, what, expected, report)
        }
        Err(error) => report.unread(inode.path, error),
    }
}
