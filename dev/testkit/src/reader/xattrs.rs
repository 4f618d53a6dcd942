//! Extended attributes: sets of names and values, found through a table of ids.

use super::disk::{Cursor, Disk};
use super::metadata::Table;
use super::superblock::{NO_TABLE, Superblock};
use super::tables::Indexed;
use crate::model::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Marks a value that is stored elsewhere: the entry has a reference to the value.
const ELSEWHERE: u16 = 0x100;

/// All sets, by xattr id.
pub(super) type Sets = Vec<BTreeMap<Bytes, Bytes>>;

/// Reads the sets. `start` is the end of the table before them.
pub(super) fn read(disk: &mut Disk, superblock: &Superblock, start: u64) -> Result<Sets, String> {
    if superblock.xattr_table == NO_TABLE {
        check_end(disk, superblock, start);
        return Ok(Vec::new());
    }
    let header = disk.bytes(superblock.xattr_table, 16, "xattr table")?;
    let mut cursor = Cursor::new(&header, 0, "xattr table");
    let pairs_start = cursor.u64()?;
    let count = cursor.u32()?;
    let unused = cursor.u32()?;
    if unused != 0 || pairs_start != start {
        disk.problems.push(format!("xattr table: pairs at {pairs_start} (expected {start}), unused field {unused}"));
    }
    // The index follows the header, not the blocks: the blocks end where the header starts.
    let ids = ids_table(disk, superblock.xattr_table, count)?;
    check_end(disk, superblock, ids.end);
    let pairs = Table::read(disk, pairs_start..ids.start, "xattr pairs")?;
    let mut cursor = Cursor::new(&ids.bytes, 0, "xattr ids");
    let sets = (0..count).map(|_| set(&pairs, &mut cursor)).collect::<Result<Sets, String>>()?;
    let different: BTreeSet<_> = sets.iter().collect();
    if different.len() != sets.len() {
        disk.problems.push(format!("xattr table: {} sets, {} of them different", sets.len(), different.len()));
    }
    Ok(sets)
}

fn check_end(disk: &mut Disk, superblock: &Superblock, end: u64) {
    if end != superblock.bytes_used {
        disk.problems.push(format!("the last table ends at {end}, {} bytes are used", superblock.bytes_used));
    }
}

fn ids_table(disk: &mut Disk, header: u64, count: u32) -> Result<Indexed, String> {
    let bytes = u64::from(count) * 16;
    let blocks = bytes.div_ceil(super::disk::METADATA_BLOCK as u64);
    let words = disk.bytes(header + 16, blocks * 8, "xattr index")?;
    let mut cursor = Cursor::new(&words, 0, "xattr index");
    let start = if blocks == 0 { header } else { cursor.u64()? };
    let table = Table::read(disk, start..header, "xattr ids")?;
    for number in 1..blocks {
        let position = cursor.u64()?;
        if table.locate(position.wrapping_sub(start), 0) != Ok(number as usize * super::disk::METADATA_BLOCK) {
            return Err(format!("xattr index: entry {number} is {position}, where that block does not start"));
        }
    }
    if table.bytes.len() as u64 != bytes {
        return Err(format!("xattr ids: {} bytes (expected {bytes})", table.bytes.len()));
    }
    Ok(Indexed { start, end: header + 16 + blocks * 8, bytes: table.bytes })
}

fn set(pairs: &Table, ids: &mut Cursor) -> Result<BTreeMap<Bytes, Bytes>, String> {
    // Linux does not read the size that follows, and programs count it differently.
    let reference = ids.u64()?;
    let count = ids.u32()?;
    let _size = ids.u32()?;
    let mut cursor = Cursor::new(&pairs.bytes, pairs.locate_reference(reference)?, "xattr pairs");
    let mut found = BTreeMap::new();
    for _ in 0..count {
        let (name, value) = pair(pairs, &mut cursor)?;
        if let Some(twice) = found.insert(name, value) {
            return Err(format!(
                "xattr pairs: a name twice in one set, with value {:?}",
                twice.escape_ascii().to_string()
            ));
        }
    }
    Ok(found)
}

fn pair(pairs: &Table, cursor: &mut Cursor) -> Result<(Bytes, Bytes), String> {
    const PREFIXES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
    let kind = cursor.u16()?;
    let length = cursor.u16()?;
    let prefix = PREFIXES.get(usize::from(kind & !ELSEWHERE));
    let prefix = prefix.ok_or_else(|| format!("xattr pairs: type {kind:#x} (expected 0 to 2)"))?;
    let name = [prefix, cursor.take(length.into())?].concat();
    let size = cursor.u32()?;
    if kind & ELSEWHERE == 0 {
        return Ok((name, cursor.take(size as usize)?.to_vec()));
    }
    if size != 8 {
        return Err(format!("xattr pairs: a reference of {size} bytes (expected 8)"));
    }
    let mut elsewhere = Cursor::new(&pairs.bytes, pairs.locate_reference(cursor.u64()?)?, "xattr value");
    let size = elsewhere.u32()?;
    Ok((name, elsewhere.take(size as usize)?.to_vec()))
}
