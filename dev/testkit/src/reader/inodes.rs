//! The inode table: all inodes in sequence, since they fill the table without gaps.

use super::disk::{Cursor, Disk};
use super::metadata::Table;
use super::superblock::Superblock;
use crate::model::Bytes;
use std::collections::BTreeMap;

/// Marks a file without a tail end in a fragment block, or an inode without xattrs.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Inode {
    pub mode: u16,
    pub uid: u16,
    pub gid: u16,
    pub mtime: u32,
    pub number: u32,
    /// Link count; 1 where the inode type has no field for it.
    pub links: u32,
    /// Index of its set of xattrs, or [`NONE`].
    pub xattr: u32,
    pub body: Body,
}

/// Type-specific part of an inode.
#[derive(Debug)]
pub(super) enum Body {
    File(FileBody),
    Dir(DirBody),
    Symlink(Bytes),
    BlockDevice(u32),
    CharDevice(u32),
    Fifo,
    Socket,
}

/// Position of a file's content.
#[derive(Debug)]
pub(super) struct FileBody {
    pub start: u64,
    pub size: u64,
    /// Bytes in holes, by the inode's field.
    pub sparse: u64,
    pub fragment: u32,
    pub offset: u32,
    pub sizes: Vec<u32>,
}

/// Position of a directory's listing.
#[derive(Debug)]
pub(super) struct DirBody {
    pub block: u32,
    pub offset: u16,
    /// Bytes of the listing plus 3.
    pub size: u32,
    pub parent: u32,
    pub index: Vec<IndexEntry>,
}

#[derive(Debug)]
pub(super) struct IndexEntry {
    /// Offset in the listing in bytes.
    pub position: u32,
    /// The metadata block in which this part of the listing starts.
    pub block: u32,
    pub name: Bytes,
}

/// All inodes by their offset in the decoded table.
pub(super) type Inodes = BTreeMap<usize, Inode>;

pub(super) fn read(disk: &mut Disk, table: &Table, superblock: &Superblock) -> Result<Inodes, String> {
    let mut cursor = Cursor::new(&table.bytes, 0, "inode table");
    let mut found = Inodes::new();
    let mut numbers = vec![false; superblock.inodes as usize + 1];
    while !cursor.is_at_end() {
        let at = cursor.at;
        let inode =
            inode(&mut cursor, superblock).map_err(|cause| format!("the inode at {at} of the table: {cause}"))?;
        match numbers.get_mut(inode.number as usize) {
            Some(taken) if inode.number > 0 && !*taken => *taken = true,
            _ => disk.problems.push(format!("inode number {} is 0, too high or there twice", inode.number)),
        }
        check_holes(disk, &inode, superblock);
        found.insert(at, inode);
    }
    if found.len() != superblock.inodes as usize {
        disk.problems.push(format!("{} inodes in the table, {} in the superblock", found.len(), superblock.inodes));
    }
    Ok(found)
}

fn inode(cursor: &mut Cursor, superblock: &Superblock) -> Result<Inode, String> {
    let kind = cursor.u16()?;
    let mode = cursor.u16()?;
    let uid = cursor.u16()?;
    let gid = cursor.u16()?;
    let mtime = cursor.u32()?;
    let number = cursor.u32()?;
    let (body, links, xattr) = match kind {
        1 => (basic_dir(cursor)?, 1, NONE),
        2 => (basic_file(cursor, superblock)?, 1, NONE),
        8 => extended_dir(cursor)?,
        9 => extended_file(cursor, superblock)?,
        _ => other(kind, cursor)?,
    };
    if mode > 0o7777 {
        return Err(format!("mode {mode:o} (expected at most 7777)"));
    }
    Ok(Inode { mode, uid, gid, mtime, number, links, xattr, body })
}

fn basic_dir(cursor: &mut Cursor) -> Result<Body, String> {
    let block = cursor.u32()?;
    let _links = cursor.u32()?;
    let size = cursor.u16()?.into();
    let offset = cursor.u16()?;
    let parent = cursor.u32()?;
    Ok(Body::Dir(DirBody { block, offset, size, parent, index: Vec::new() }))
}

fn extended_dir(cursor: &mut Cursor) -> Result<(Body, u32, u32), String> {
    let _links = cursor.u32()?;
    let size = cursor.u32()?;
    let block = cursor.u32()?;
    let parent = cursor.u32()?;
    let count = cursor.u16()?;
    let offset = cursor.u16()?;
    let xattr = cursor.u32()?;
    let mut entry = || {
        let position = cursor.u32()?;
        let block = cursor.u32()?;
        let length = cursor.u32()?;
        Ok(IndexEntry { position, block, name: cursor.take(length as usize + 1)?.to_vec() })
    };
    let index = (0..count).map(|_| entry()).collect::<Result<_, String>>()?;
    Ok((Body::Dir(DirBody { block, offset, size, parent, index }), 1, xattr))
}

fn basic_file(cursor: &mut Cursor, superblock: &Superblock) -> Result<Body, String> {
    let start = cursor.u32()?.into();
    let fragment = cursor.u32()?;
    let offset = cursor.u32()?;
    let size = cursor.u32()?.into();
    let sizes = sizes(cursor, size, fragment, superblock)?;
    Ok(Body::File(FileBody { start, size, sparse: 0, fragment, offset, sizes }))
}

fn extended_file(cursor: &mut Cursor, superblock: &Superblock) -> Result<(Body, u32, u32), String> {
    let start = cursor.u64()?;
    let size = cursor.u64()?;
    let sparse = cursor.u64()?;
    let links = cursor.u32()?;
    let fragment = cursor.u32()?;
    let offset = cursor.u32()?;
    let xattr = cursor.u32()?;
    let sizes = sizes(cursor, size, fragment, superblock)?;
    Ok((Body::File(FileBody { start, size, sparse, fragment, offset, sizes }), links, xattr))
}

fn sizes(cursor: &mut Cursor, size: u64, fragment: u32, superblock: &Superblock) -> Result<Vec<u32>, String> {
    let block = u64::from(superblock.block_size);
    let count = if fragment == NONE { size.div_ceil(block) } else { size / block };
    if fragment != NONE && size.is_multiple_of(block) {
        return Err(format!("{size} bytes leave no tail end, but fragment {fragment} holds it"));
    }
    (0..count).map(|_| cursor.u32()).collect()
}

/// A basic inode has no field for holes, so it must have none; an extended one counts them all.
fn check_holes(disk: &mut Disk, inode: &Inode, superblock: &Superblock) {
    let Body::File(file) = &inode.body else { return };
    let holes = hole_bytes(&file.sizes, file.size, superblock);
    if file.sparse != holes {
        disk.problems.push(format!("inode {}: {} bytes in holes (expected {holes})", inode.number, file.sparse));
    }
}

/// Bytes in blocks of size 0. The last block may be short.
fn hole_bytes(sizes: &[u32], size: u64, superblock: &Superblock) -> u64 {
    let block = u64::from(superblock.block_size);
    let length = |index: usize| block.min(size - index as u64 * block);
    sizes.iter().enumerate().filter(|(_, word)| **word == 0).map(|(index, _)| length(index)).sum()
}

fn other(kind: u16, cursor: &mut Cursor) -> Result<(Body, u32, u32), String> {
    let links = cursor.u32()?;
    let body = match kind {
        3 | 10 => symlink(cursor)?,
        4 | 11 => Body::BlockDevice(cursor.u32()?),
        5 | 12 => Body::CharDevice(cursor.u32()?),
        6 | 13 => Body::Fifo,
        7 | 14 => Body::Socket,
        _ => return Err(format!("type {kind} (expected 1 to 14)")),
    };
    let xattr = if kind >= 8 { cursor.u32()? } else { NONE };
    Ok((body, links, xattr))
}

fn symlink(cursor: &mut Cursor) -> Result<Body, String> {
    let length = cursor.u32()?;
    if !(1..=65535).contains(&length) {
        return Err(format!("a link target of {length} bytes (expected 1 to 65535)"));
    }
    Ok(Body::Symlink(cursor.take(length as usize)?.to_vec()))
}

impl Body {
    /// The basic type's number, as in directory entries.
    pub fn basic_type(&self) -> u16 {
        match self {
            Body::Dir(_) => 1,
            Body::File(_) => 2,
            Body::Symlink(_) => 3,
            Body::BlockDevice(_) => 4,
            Body::CharDevice(_) => 5,
            Body::Fifo => 6,
            Body::Socket => 7,
        }
    }
}
