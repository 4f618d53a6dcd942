//! The complete tree: every inode has a name, is reachable, and has the stated number of names.

use packline_volume::Report;

use super::inodes::{Inodes, Record};
use crate::read::{Image, InodeRef, NodeType};

/// Checks the records; all listings must have been read.
pub(super) fn check(image: &Image, inodes: &Inodes, report: &mut Report<'_>) {
    let attached = attached(image, inodes);
    let table = image.tables().inodes;
    let mut unnamed = 0u64;
    for (index, record) in inodes.records.iter().enumerate() {
        let number = index as u32 + 1;
        let Some(at) = record.at() else {
            report.fault(table.start, format!("no inode of number {number}"), "each number once");
            continue;
        };
        let offset = table.place(at.0).block;
        if at == image.root() {
            continue;
        }
        if inodes.names_missing {
            unnamed += u64::from(record.found == 0);
            continue;
        }
        if record.is(NodeType::Directory) {
            directory(number, record, attached[index], offset, report)
        } else {
            names(number, record, offset, report)
        }
    }
    if unnamed > 0 {
        let what = format!("{unnamed} inodes without a name, for listings that cannot be read");
        report.fault(image.tables().directories.start, what, "one name at least");
    }
}

fn directory(number: u32, record: &Record, attached: bool, offset: u64, report: &mut Report<'_>) {
    if record.found == 0 {
        report.fault(offset, format!("directory {number} without a name"), "one name");
    } else if !attached {
        let what = format!("directory {number} is in directory {}, inside itself", record.found);
        report.fault(offset, what, "a way to it from the root");
    }
}

fn names(number: u32, record: &Record, offset: u64, report: &mut Report<'_>) {
    if record.found == 0 {
        report.fault(offset, format!("inode {number} without a name"), "one at least");
    } else if record.found != record.says {
        let what = format!("inode {number} has {} names, but its link count is {}", record.found, record.says);
        report.fault(offset, what, "the same number");
    }
}

/// Returns for each directory whether the chain of its parents ends, instead of being a cycle. A chain ends at the root, or at a directory
/// without a name, which is reported separately.
fn attached(image: &Image, inodes: &Inodes) -> Vec<bool> {
    let mut ends = vec![false; inodes.records.len()];
    let mut way: Vec<usize> = Vec::new();
    let mut on_way = vec![false; inodes.records.len()];
    for start in 0..ends.len() {
        let mut at = Some(start);
        while let Some(index) = at.filter(|index| !ends[*index] && !on_way[*index]) {
            on_way[index] = true;
            way.push(index);
            at = parent(&inodes.records[index], image.root());
        }
        // The chain is a cycle if it came back to itself. A chain that reaches an earlier chain has the result of the earlier one.
        let sound = at.is_none_or(|index| ends[index]);
        way.drain(..).for_each(|index| ends[index] = sound);
    }
    ends
}

fn parent(record: &Record, root: InodeRef) -> Option<usize> {
    let up = record.is(NodeType::Directory) && record.found != 0 && record.at() != Some(root);
    up.then(|| record.found as usize - 1)
}
