//! The tables found through an index: fragments, exports, ids. And the end of each region of the image.

use super::disk::{Cursor, Disk, METADATA_BLOCK as BLOCK};
use super::metadata::Table;
use super::superblock::{NO_TABLE, Superblock};

/// A table whose blocks are found through an index of 8-byte positions after them.
#[derive(Debug)]
pub(super) struct Indexed {
    /// Start of its first block.
    pub start: u64,
    /// End of its index.
    pub end: u64,
    /// Its entries.
    pub bytes: Vec<u8>,
}

impl Indexed {
    /// Reads a table of `count` entries of `size` bytes with its index at `index`.
    pub fn read(disk: &mut Disk, index: u64, count: u64, size: u64, what: &str) -> Result<Indexed, String> {
        let blocks = (count * size).div_ceil(BLOCK as u64);
        let words = disk.bytes(index, blocks * 8, what)?;
        let mut cursor = Cursor::new(&words, 0, "index");
        let starts = (0..blocks).map(|_| cursor.u64()).collect::<Result<Vec<u64>, String>>()?;
        let start = starts.first().copied().unwrap_or(index);
        let table = Table::read(disk, start..index, what)?;
        for (number, &position) in starts.iter().enumerate() {
            let wrong = table.locate(position.wrapping_sub(start), 0) != Ok(number * BLOCK);
            if wrong {
                return Err(format!("{what}: index entry {number} is {position}, where that block does not start"));
            }
        }
        if table.bytes.len() as u64 != count * size {
            return Err(format!("{what}: {} bytes (expected {count} entries of {size})", table.bytes.len()));
        }
        Ok(Indexed { start, end: index + blocks * 8, bytes: table.bytes })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment {
    pub start: u64,
    pub size_word: u32,
}

/// All tables except inodes, directories and xattrs, and the ends of the directory table and the image.
#[derive(Debug)]
pub(super) struct Tables {
    pub fragments: Vec<Fragment>,
    /// References of inodes, by inode number less 1; `None` without an export table.
    pub exports: Option<Vec<u64>>,
    pub ids: Vec<u32>,
    /// End of the directory table.
    pub directories_end: u64,
    /// End of the id table's index: the start of the xattrs or the end of the image.
    pub ids_end: u64,
}

/// Reads the tables and checks that each begins where the one before it ends, in the order that Linux requires: inodes, directories,
/// fragments, exports, ids, xattrs.
pub(super) fn read(disk: &mut Disk, superblock: &Superblock) -> Result<Tables, String> {
    let fragments = fragments(disk, superblock)?;
    let exports = exports(disk, superblock)?;
    let ids = Indexed::read(disk, superblock.id_table, superblock.ids.into(), 4, "id table")?;
    let present: Vec<(&str, &Indexed)> = [("fragment table", fragments.as_ref()), ("export table", exports.as_ref())]
        .into_iter()
        .filter_map(|(name, table)| Some((name, table?)))
        .chain([("id table", &ids)])
        .collect();
    for pair in present.windows(2) {
        let ((name, table), (next_name, next)) = (pair[0], pair[1]);
        if table.end != next.start {
            let gap = format!("the {name} ends at {}, the {next_name} starts at {}", table.end, next.start);
            disk.problems.push(gap);
        }
    }
    Ok(Tables {
        directories_end: present[0].1.start,
        ids_end: ids.end,
        ids: words(&ids.bytes)?,
        exports: exports.map(|table| references(&table.bytes)).transpose()?,
        fragments: fragments.map_or(Ok(Vec::new()), |table| fragment_list(&table.bytes))?,
    })
}

fn fragments(disk: &mut Disk, superblock: &Superblock) -> Result<Option<Indexed>, String> {
    if superblock.fragments == 0 {
        return Ok(None);
    }
    Indexed::read(disk, superblock.fragment_table, superblock.fragments.into(), 16, "fragment table").map(Some)
}

fn exports(disk: &mut Disk, superblock: &Superblock) -> Result<Option<Indexed>, String> {
    if superblock.export_table == NO_TABLE {
        return Ok(None);
    }
    Indexed::read(disk, superblock.export_table, superblock.inodes.into(), 8, "export table").map(Some)
}

fn words(bytes: &[u8]) -> Result<Vec<u32>, String> {
    let mut cursor = Cursor::new(bytes, 0, "id table");
    (0..bytes.len() / 4).map(|_| cursor.u32()).collect()
}

fn references(bytes: &[u8]) -> Result<Vec<u64>, String> {
    let mut cursor = Cursor::new(bytes, 0, "export table");
    (0..bytes.len() / 8).map(|_| cursor.u64()).collect()
}

fn fragment_list(bytes: &[u8]) -> Result<Vec<Fragment>, String> {
    let mut cursor = Cursor::new(bytes, 0, "fragment table");
    let mut entry = || {
        let fragment = Fragment { start: cursor.u64()?, size_word: cursor.u32()? };
        match cursor.u32()? {
            0 => Ok(fragment),
            unused => Err(format!("fragment table: an unused field holds {unused} (expected 0)")),
        }
    };
    (0..bytes.len() / 16).map(|_| entry()).collect()
}
