//! The superblock of an image of any version.
//!
//! Versions 1.0 to 3.1 begin with: magic u32, inodes u32, then u32 each: bytes used, start of the owners, of the groups, of the inode table and of
//! the directory table; version as two u16, block size u16, log2 of the block size u16, flags u8, owners u8, groups u8, creation time u32, root inode
//! reference u64. Version 2 adds u32 each: block size, fragments, start of the fragment table. Version 3 adds u64 each: bytes used, start of the
//! owners, of the groups, of the inode, directory, fragment and export tables. The newest of two fields with the same meaning is valid.
//!
//! Owners and groups are arrays of u32 that are not compressed.

use packline_volume::ReadError;

use crate::format::layout::{Fields, Layout};
use crate::format::superblock::{
    NO_TABLE, SUPERBLOCK_BYTES, Start, Superblock, block_size, check_order, layout, no_inodes,
};

/// Length in bytes of the longest superblock.
pub(crate) const LONGEST_SUPERBLOCK: usize = 119;
/// The number of gzip, the compressor of all versions before 4.0.
const GZIP: u16 = 1;

/// The positions of an array of owners or groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdArray {
    pub(crate) start: u64,
    pub(crate) count: u16,
}

/// The owners and groups of versions before 4.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OldIds {
    pub(crate) owners: IdArray,
    pub(crate) groups: IdArray,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The superblock, in the terms of version 4.0: the id table is the array of owners.
    pub(crate) superblock: Superblock,
    pub(crate) layout: Layout,
    /// `None` in version 4.0, which has an id table.
    pub(crate) old_ids: Option<OldIds>,
}

/// The fields of versions 1 to 3 that a later version replaced.
struct Places {
    bytes_used: u64,
    owners: u64,
    groups: u64,
    inodes: u64,
    directories: u64,
    fragments: u64,
    exports: u64,
}

impl Head {
    /// Parses the first bytes of an image, and checks what can be checked without the rest of the image. Bytes after the end of the image are 0.
    ///
    /// # Errors
    /// Errors of [`Superblock::decode`].
    pub(crate) fn decode(bytes: &[u8; LONGEST_SUPERBLOCK]) -> Result<Head, ReadError> {
        let layout = layout(bytes)?;
        if layout.is_old() {
            return old(bytes, layout);
        }
        let mut current = [0; SUPERBLOCK_BYTES as usize];
        current.copy_from_slice(&bytes[..SUPERBLOCK_BYTES as usize]);
        let superblock = Superblock::decode_ordered(&current, layout.order)?;
        Ok(Head { superblock, layout, old_ids: None })
    }
}

fn old(bytes: &[u8; LONGEST_SUPERBLOCK], layout: Layout) -> Result<Head, ReadError> {
    let mut fields = Fields::new(*bytes, layout.order);
    let [_magic, inodes] = [fields.word(32), fields.word(32)];
    let [bytes_used, owners, groups, inode_table, directory_table] = std::array::from_fn(|_| fields.long(32));
    // The version.
    fields.skip(32);
    let [block_bytes, log] = [fields.word(16), fields.word(16)];
    let [flags, owner_count, group_count] = std::array::from_fn(|_| fields.half(8));
    let created = fields.word(32);
    let root = fields.long(64);
    let [later_block_bytes, fragments] = [fields.word(32), fields.word(32)];
    let fragment_table = fields.long(32);
    let places = Places {
        bytes_used,
        owners,
        groups,
        inodes: inode_table,
        directories: directory_table,
        fragments: fragment_table,
        exports: NO_TABLE,
    };
    let places = if layout.major == 3 { long_places(&mut fields) } else { places };
    let (block_bytes, at) = if layout.major == 1 { (block_bytes, 32) } else { (later_block_bytes, 51) };
    let superblock = Superblock {
        inodes,
        created,
        block_size: block_size(block_bytes, log as u16, [at, 34])?,
        fragments: if layout.major == 1 { 0 } else { fragments },
        compressor: GZIP,
        flags,
        ids: owner_count + group_count,
        root,
        bytes_used: places.bytes_used,
        id_table: places.owners,
        xattr_table: NO_TABLE,
        inode_table: places.inodes,
        directory_table: places.directories,
        fragment_table: places.fragments,
        export_table: places.exports,
    };
    if inodes == 0 {
        return Err(no_inodes());
    }
    if owner_count == 0 {
        return Err(ReadError::corrupt(37, "an image of 0 owners", "at least 1"));
    }
    let old_ids = OldIds {
        owners: IdArray { start: places.owners, count: owner_count },
        groups: IdArray { start: places.groups, count: group_count },
    };
    check_order(&order(&superblock, &old_ids, layout.major), layout.superblock_bytes(), superblock.bytes_used)?;
    old_ids.check_ends(superblock.bytes_used)?;
    Ok(Head { superblock, layout, old_ids: Some(old_ids) })
}

fn long_places(fields: &mut Fields<LONGEST_SUPERBLOCK>) -> Places {
    let [bytes_used, owners, groups, inodes, directories, fragments, exports] =
        std::array::from_fn(|_| fields.long(64));
    Places { bytes_used, owners, groups, inodes, directories, fragments, exports }
}

/// The tables in their required order. The directory table of a tree without names is empty.
fn order(superblock: &Superblock, ids: &OldIds, major: u16) -> [Start; 6] {
    let at: [u64; 6] = if major == 3 { [87, 95, 103, 111, 71, 79] } else { [20, 24, 59, 0, 12, 16] };
    let start =
        |name, table: usize, start, exists| Start { name, at: at[table], start, exists, may_be_empty: table > 1 };
    [
        start("inode table", 0, superblock.inode_table, true),
        start("directory table", 1, superblock.directory_table, true),
        start("fragment table", 2, superblock.fragment_table, superblock.fragments > 0),
        start("export table", 3, superblock.export_table, superblock.export_table != NO_TABLE),
        start("owners", 4, ids.owners.start, true),
        start("groups", 5, ids.groups.start, ids.groups.count > 0),
    ]
}

impl OldIds {
    /// Checks that the arrays end within an image of `end` bytes, the owners before the groups.
    fn check_ends(&self, end: u64) -> Result<(), ReadError> {
        let groups = if self.groups.count > 0 { self.groups.start } else { end };
        for (name, array, end) in [("owners", self.owners, groups), ("groups", self.groups, end)] {
            if array.count > 0 && array.start.saturating_add(u64::from(array.count) * 4) > end {
                let what = format!("{} {name} at {}", array.count, array.start);
                return Err(ReadError::corrupt(array.start, what, format!("an end at {end} at most")));
            }
        }
        Ok(())
    }
}
