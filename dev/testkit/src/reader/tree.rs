//! The tree: from the root down, every inode reached, every link counted.

use super::data::{self, Tails, Usage};
use super::directories;
use super::disk::Disk;
use super::inodes::{Body, Inode, Inodes, NONE};
use super::metadata::Table;
use super::superblock::Superblock;
use super::tables::Tables;
use super::xattrs::Sets;
use crate::model::Bytes;
use crate::snapshot::{Attributes, Kind, Snapshot};
use std::collections::BTreeMap;
use std::ops::Range;

/// All decoded tables of an image.
pub(super) struct Parts {
    pub superblock: Superblock,
    pub inode_table: Table,
    pub inodes: Inodes,
    pub directories: Table,
    pub tables: Tables,
    pub xattrs: Sets,
}

/// Walks the whole tree. Returns the use of the data area too.
pub(super) fn read(disk: &mut Disk, parts: &Parts) -> Result<(Snapshot, Usage), String> {
    let root = parts.inode_table.locate_reference(parts.superblock.root)?;
    let mut walk = Walk { parts, found: Snapshot::new(), names: BTreeMap::new(), listings: Vec::new() };
    walk.down(disk, root)?;
    walk.check_links(disk);
    walk.check_listings(disk);
    check_exports(disk, parts)?;
    let Walk { mut found, names, .. } = walk;
    let usage = hash_contents(disk, parts, &mut found, &names)?;
    crate::snapshot::group(&mut found, |path, _| names[path]);
    Ok((found, usage))
}

struct Walk<'a> {
    parts: &'a Parts,
    found: Snapshot,
    /// The inode's offset in the table by path.
    names: BTreeMap<Bytes, usize>,
    listings: Vec<Range<usize>>,
}

impl Walk<'_> {
    fn down(&mut self, disk: &mut Disk, root: usize) -> Result<(), String> {
        let mut pending = vec![(Bytes::new(), root)];
        while let Some((path, place)) = pending.pop() {
            let fail = |cause: String| format!("/{}: {cause}", path.escape_ascii());
            let inode = self.parts.inodes.get(&place).ok_or_else(|| fail(format!("no inode at {place}")))?;
            let attributes = self.attributes(inode, &path).map_err(fail)?;
            if self.found.insert(path.clone(), attributes).is_some()
                || pending.len() > self.parts.inodes.len() * 4 + 1024
            {
                return Err(fail("the tree runs in a circle".into()));
            }
            self.names.insert(path.clone(), place);
            self.children(disk, &path, inode, &mut pending).map_err(fail)?;
        }
        Ok(())
    }

    fn children(
        &mut self,
        disk: &mut Disk,
        path: &[u8],
        inode: &Inode,
        pending: &mut Vec<(Bytes, usize)>,
    ) -> Result<(), String> {
        let Body::Dir(directory) = &inode.body else { return Ok(()) };
        let listing = directories::read(&self.parts.directories, directory)?;
        for entry in listing.entries {
            let place = self.parts.inode_table.locate(entry.inode.0, entry.inode.1)?;
            let child = self.parts.inodes.get(&place).ok_or_else(|| format!("no inode at {:?}", entry.inode))?;
            let name = entry.name.escape_ascii();
            if (child.number, child.body.basic_type()) != (entry.number, entry.basic_type) {
                disk.problems.push(format!("{name}: the entry and its inode differ in number or type"));
            }
            if let Body::Dir(below) = &child.body
                && below.parent != inode.number
            {
                disk.problems.push(format!("{name}: parent {} (expected {})", below.parent, inode.number));
            }
            let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
            pending.push(([path, separator, &entry.name].concat(), place));
        }
        self.listings.push(listing.range);
        Ok(())
    }

    fn attributes(&self, inode: &Inode, path: &[u8]) -> Result<Attributes, String> {
        let id = |index: u16| {
            let found = self.parts.tables.ids.get(usize::from(index)).copied();
            found.ok_or_else(|| format!("id {index} of {}", self.parts.tables.ids.len()))
        };
        let xattrs = match inode.xattr {
            NONE => BTreeMap::new(),
            index => self.parts.xattrs.get(index as usize).cloned().ok_or_else(|| format!("xattr set {index}"))?,
        };
        Ok(Attributes {
            kind: kind(&inode.body),
            mode: inode.mode,
            uid: id(inode.uid)?,
            gid: id(inode.gid)?,
            mtime: inode.mtime.into(),
            first_name: path.to_vec(),
            links: inode.links,
            xattrs,
        })
    }

    /// Every inode is reached, directories once, others as often as their link count.
    fn check_links(&self, disk: &mut Disk) {
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for place in self.names.values() {
            *counts.entry(*place).or_default() += 1;
        }
        for (place, inode) in &self.parts.inodes {
            let count = counts.get(place).copied().unwrap_or(0);
            if count != inode.links {
                disk.problems.push(format!("inode {} has {count} names and {} links", inode.number, inode.links));
            }
        }
    }

    /// The listings fill the directory table without overlaps.
    fn check_listings(&mut self, disk: &mut Disk) {
        self.listings.retain(|range| !range.is_empty());
        self.listings.sort_by_key(|range| range.start);
        let mut end = 0;
        for range in &self.listings {
            if range.start != end {
                disk.problems.push(format!("a listing starts at {} (expected {end})", range.start));
            }
            end = range.end;
        }
        let length = self.parts.directories.bytes.len();
        if end != length {
            disk.problems.push(format!("listings end at {end}, the directory table at {length}"));
        }
    }
}

fn kind(body: &Body) -> Kind {
    match body {
        Body::File(file) => Kind::File(file.size, [0; 32]),
        Body::Dir(_) => Kind::Dir,
        Body::Symlink(target) => Kind::Symlink(target.clone()),
        Body::BlockDevice(number) => Kind::BlockDevice(device(*number).0, device(*number).1),
        Body::CharDevice(number) => Kind::CharDevice(device(*number).0, device(*number).1),
        Body::Fifo => Kind::Fifo,
        Body::Socket => Kind::Socket,
    }
}

/// Linux's 32-bit device number: 12 bits of major between 8 low and 12 high bits of minor.
fn device(number: u32) -> (u32, u32) {
    ((number >> 8) & 0xfff, (number & 0xff) | (number >> 12) & 0xf_ff00)
}

fn check_exports(disk: &mut Disk, parts: &Parts) -> Result<(), String> {
    let Some(exports) = &parts.tables.exports else { return Ok(()) };
    for (index, reference) in exports.iter().enumerate() {
        let place = parts.inode_table.locate_reference(*reference)?;
        let number = parts.inodes.get(&place).map(|inode| inode.number as usize);
        if number != Some(index + 1) {
            disk.problems.push(format!("export {} is inode {number:?}", index + 1));
        }
    }
    Ok(())
}

/// Hashes each file's content once, in the order of the inode table, which is near the order of the data.
fn hash_contents(
    disk: &mut Disk,
    parts: &Parts,
    found: &mut Snapshot,
    names: &BTreeMap<Bytes, usize>,
) -> Result<Usage, String> {
    let mut usage = Usage::default();
    let mut tails = Tails::default();
    let mut hashes = BTreeMap::new();
    for (place, inode) in &parts.inodes {
        let Body::File(file) = &inode.body else { continue };
        let hash = data::hash_file(disk, file, &parts.tables.fragments, &mut tails, &mut usage);
        hashes.insert(*place, hash.map_err(|cause| format!("inode {}: {cause}", inode.number))?);
    }
    for (path, attributes) in found.iter_mut() {
        if let Kind::File(_, hash) = &mut attributes.kind {
            *hash = hashes[&names[path]];
        }
    }
    Ok(usage)
}
