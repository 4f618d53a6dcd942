//! Details of an image's layout: positions of tables, and fields of inodes that do not affect the tree.
//!
//! Fields of SquashFS 4.0; `format/inode` and `format/directory` describe the layout of inodes and of a directory's index.

use super::metadata::{Area, Cursor};
use super::{DirData, Image, Inode, Node, ReadError};
use crate::format::inode::NO_XATTR;
use crate::format::tables::decode::Indexed;

/// Position of a part of an image, bytes from the start of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TablePlace {
    /// Name of the part.
    pub name: &'static str,
    pub start: u64,
    /// End of the part, index included.
    pub end: u64,
    /// Number of entries, if the table states it.
    pub entries: Option<u64>,
}

/// Fields of an inode as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawInode {
    /// Permissions, and above them four unused bits: the type, or 0.
    pub mode: u16,
    /// Index of the owner in the id table.
    pub uid_index: u16,
    /// Index of the group in the id table.
    pub gid_index: u16,
    /// Index of the fragment block and offset in the block, as stored, of regular files.
    pub fragment: Option<(u32, u32)>,
    /// Index of a set of extended attributes, even if the image has no table of them; 0xffffffff for none.
    pub xattr: u32,
}

/// Position of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingPlace {
    /// Start of its metadata block, bytes from the start of the directory table.
    pub block: u64,
    /// Offset in the decompressed block in bytes.
    pub offset: u16,
}

/// One entry of a directory's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Start of its run, bytes from the start of the listing.
    pub position: u32,
    /// Start of the run's metadata block, in bytes from the start of the directory table.
    pub block: u32,
    /// The first name of the run.
    pub name: Vec<u8>,
}

/// The index of one directory. The iterator ends after the first error.
#[derive(Debug)]
pub struct DirIndex {
    cursor: Cursor,
    left: u16,
}

impl Image {
    /// Returns the positions of the data area and the tables, in order.
    pub fn table_places(&self) -> Vec<TablePlace> {
        let tables = self.tables();
        let plain = |area: Area| TablePlace { name: area.name, start: area.start, end: area.end, entries: None };
        let indexed =
            |table: &Indexed| TablePlace { end: table.end_of_index(), entries: Some(table.count), ..plain(table.area) };
        let start = self.layout().superblock_bytes();
        let data = Area { name: "data", start, end: tables.inodes.start };
        let inodes = TablePlace { entries: Some(self.superblock().inodes.into()), ..plain(tables.inodes) };
        let mut places = vec![plain(data), inodes, plain(tables.directories)];
        let optional = [tables.fragments.as_ref(), tables.exports.as_ref(), tables.ids.as_ref()];
        places.extend(optional.into_iter().flatten().map(indexed));
        if let Some(xattrs) = &tables.xattrs {
            places.extend([plain(xattrs.values), indexed(&xattrs.sets)]);
        }
        places
    }

    /// Reads the fields of an inode that do not affect the tree.
    ///
    /// # Errors
    /// Errors of [`Image::inode`]; [`ReadError::Unsupported`] for a version before 4.0.
    pub fn raw_inode(&self, inode: &Inode) -> Result<RawInode, ReadError> {
        let layout = self.layout();
        if layout.is_old() {
            return Err(ReadError::unsupported(format!("fields of inodes of {layout}"), "SquashFS 4.0"));
        }
        let place = self.tables().inodes.place(inode.at.0);
        let mut cursor = self.inode_cursor(place);
        let [_kind, mode, uid_index, gid_index] = fields(&mut cursor)?;
        // Skips the time and the number.
        cursor.read_u64()?;
        let fragment = match &inode.node {
            Node::File(_) => Some(raw_fragment(&mut cursor, inode.extended)?),
            _ => None,
        };
        let xattr = if inode.extended { raw_xattr(&mut cursor, &inode.node)? } else { NO_XATTR };
        Ok(RawInode { mode, uid_index, gid_index, fragment, xattr })
    }

    pub fn listing_place(&self, directory: &DirData) -> ListingPlace {
        let start = self.tables().directories.start;
        ListingPlace { block: directory.listing.block.saturating_sub(start), offset: directory.listing.offset }
    }

    /// Returns the index of a directory; empty if the directory has none, and in versions before 4.0.
    pub fn directory_index(&self, directory: &DirData) -> DirIndex {
        let left = if self.layout().is_old() { 0 } else { directory.indices };
        DirIndex { cursor: self.inode_cursor(directory.index), left }
    }
}

fn fields(cursor: &mut Cursor) -> Result<[u16; 4], ReadError> {
    Ok([cursor.read_u16()?, cursor.read_u16()?, cursor.read_u16()?, cursor.read_u16()?])
}

/// Basic: start u32, fragment u32, offset u32. Extended: start, size and hole bytes u64 each, links u32, fragment u32,
/// offset u32.
fn raw_fragment(cursor: &mut Cursor, extended: bool) -> Result<(u32, u32), ReadError> {
    cursor.read_u32()?;
    if extended {
        cursor.read_u64()?;
        cursor.read_u64()?;
        cursor.read_u64()?;
    }
    Ok((cursor.read_u32()?, cursor.read_u32()?))
}

/// Reads the last word of an extended inode before its lists. The cursor is after the common part; in a file, it is after the fragment.
fn raw_xattr(cursor: &mut Cursor, node: &Node) -> Result<u32, ReadError> {
    let before = match node {
        Node::File(_) => 0,
        Node::Directory(_) => 20,
        Node::Symlink(target) => 8 + target.len() as u64,
        Node::BlockDevice(_) | Node::CharDevice(_) => 8,
        Node::Fifo | Node::Socket => 4,
    };
    cursor.skip(before)?;
    cursor.read_u32()
}

impl DirIndex {
    fn entry(&mut self) -> Result<IndexEntry, ReadError> {
        let [position, block, length] = [self.cursor.read_u32()?, self.cursor.read_u32()?, self.cursor.read_u32()?];
        // The format allows names of 256 bytes.
        if length > 255 {
            let place = self.cursor.place();
            let what = format!("directory index entry with a name of {} bytes", u64::from(length) + 1);
            return Err(ReadError::corrupt(place.block, what, "1 to 256"));
        }
        let mut name = vec![0; length as usize + 1];
        self.cursor.read_exact(&mut name)?;
        Ok(IndexEntry { position, block, name })
    }
}

impl Iterator for DirIndex {
    type Item = Result<IndexEntry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.entry();
        if entry.is_err() {
            self.left = 0;
        }
        Some(entry)
    }
}
