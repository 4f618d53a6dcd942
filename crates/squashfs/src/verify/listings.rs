//! Every listing: its entries refer to existing inodes of the stated types, and its index is valid.

use packline_volume::Report;

use super::inodes::Inodes;
use super::paths::Paths;
use super::{VerifySettings, check_cancelled};
use crate::read::{DirData, DirEntry, Image, Inode, Node, NodeType, ReadError};

/// Reads the listings of all directories. `space` is the decompressed length of the directory table. Listings do not overlap in the table, so the
/// table bounds their total length. Returns false if they exceed it: a walk could then take for ever.
pub(super) fn check(
    image: &Image,
    inodes: &mut Inodes,
    space: u64,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<bool, ReadError> {
    let mut left = space;
    let mut paths = Paths::new();
    for number in 1..=inodes.records.len() as u32 {
        let record = inodes.get(number).filter(|record| record.is(NodeType::Directory));
        let Some(at) = record.and_then(|record| record.at()) else { continue };
        check_cancelled(settings)?;
        let inode = image.inode(at)?;
        let Node::Directory(directory) = &inode.node else { continue };
        let length = u64::from(directory.length);
        if length > left {
            let what = format!("listings of more bytes than the directory table has, {space}");
            report.fault(image.tables().directories.start, what, "listings that do not overlap");
            return Ok(false);
        }
        left -= length;
        let mut listing = Listing { image, inodes, paths: &mut paths, report, inode: &inode };
        listing.entries()?;
        listing.index(directory)?;
    }
    Ok(true)
}

struct Listing<'l, 'x> {
    image: &'l Image,
    inodes: &'l mut Inodes,
    paths: &'l mut Paths,
    report: &'l mut Report<'x>,
    inode: &'l Inode,
}

impl Listing<'_, '_> {
    fn entries(&mut self) -> Result<(), ReadError> {
        for entry in self.image.entries(self.inode)? {
            match entry {
                Ok(entry) => self.entry(&entry),
                Err(error) => {
                    self.inodes.names_missing = true;
                    let path = self.paths.of(self.image, self.inodes, self.inode.number);
                    self.report.unread(path.as_deref(), error)?;
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &DirEntry) {
        self.report.totals.names += 1;
        let parent = self.inode.number;
        let Some(record) = self.inodes.of_entry(entry) else {
            return self.fault(entry, format!("inode number {}", entry.number), "the number of an inode".into());
        };
        let there = record.at() == Some(entry.inode);
        let same = record.is(entry.kind);
        let says = record.says;
        let names = record.found;
        record.found = if entry.kind == NodeType::Directory { parent } else { names.saturating_add(1) };
        if !there {
            let expected = format!("where inode {} is", entry.number);
            return self.fault(entry, format!("inode reference {:#x}", entry.inode.0), expected);
        }
        if !same {
            return self.fault(entry, format!("type {}", entry.kind), format!("the type of inode {}", entry.number));
        }
        if entry.kind == NodeType::Directory {
            self.subdirectory(entry, says, names);
        }
    }

    fn subdirectory(&mut self, entry: &DirEntry, says: u32, before: u32) {
        let parent = self.inode.number;
        if before != 0 || entry.inode == self.image.root() {
            self.fault(entry, format!("a second name of directory {}", entry.number), "one name".into());
        } else if says != parent {
            self.fault(entry, format!("directory whose parent is inode {says}"), format!("inode {parent}"));
        }
    }

    fn fault(&mut self, entry: &DirEntry, what: String, expected: String) {
        let offset = self.offset();
        let what = format!("entry \"{}\" of directory {}: {what}", entry.name.escape_ascii(), self.inode.number);
        self.report.fault(offset, what, expected);
    }

    /// Offset of the listing's first metadata block.
    fn offset(&self) -> u64 {
        match &self.inode.node {
            Node::Directory(directory) => directory.listing.block,
            _ => 0,
        }
    }

    /// Checks that each index entry refers to the first entry of a run, with its name.
    fn index(&mut self, directory: &DirData) -> Result<(), ReadError> {
        for entry in self.image.directory_index(directory) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.report.unread(None, error),
            };
            let block = self.image.tables().directories.start + u64::from(entry.block);
            let found = self.image.listing(directory).name_at(directory, (entry.position, block));
            if found.as_deref() != Some(entry.name.as_slice()) {
                let number = self.inode.number;
                let name = entry.name.escape_ascii();
                let what = format!("index of directory {number}: no \"{name}\" at {} of its listing", entry.position);
                self.report.fault(directory.index.block, what, "the first name of a run");
            }
        }
        Ok(())
    }
}
