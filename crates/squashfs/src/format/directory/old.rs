//! Listings of versions before 4.0, in fields of bits.
//!
//! A run begins with number of entries less one 8 bits, block of the inodes u32, base of the numbers u32. An entry is offset of the inode 13 bits,
//! type 3, length of the name less one 8, number less the base i16, name. Before version 3 the block has 24 bits, and there are no numbers.

use packline_volume::ReadError;

use super::listing::{Run, StoredEntry};
use crate::read::metadata::Cursor;

/// Lengths in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The start of a run.
    pub(super) header: u32,
    /// An entry without its name.
    pub(super) entry: u32,
}

/// Returns the lengths of a version; `None` from 4 on.
pub(super) fn sizes(major: u16) -> Option<Sizes> {
    match major {
        1 | 2 => Some(Sizes { header: 4, entry: 3 }),
        3 => Some(Sizes { header: 9, entry: 5 }),
        _ => None,
    }
}

pub(super) fn header(cursor: &mut Cursor) -> Result<Run, ReadError> {
    let entries = u32::from(cursor.array::<1>()?[0]) + 1;
    if cursor.layout().major < 3 {
        let block = cursor.fields::<3>()?.word(24);
        return Ok(Run { entries, block, base: 0 });
    }
    let [block, base] = [cursor.read_u32()?, cursor.read_u32()?];
    Ok(Run { entries, block, base })
}

pub(super) fn entry(cursor: &mut Cursor) -> Result<StoredEntry, ReadError> {
    let mut fields = cursor.fields::<3>()?;
    let [offset, kind, length] = [fields.half(13), fields.half(3), fields.half(8)];
    let delta = if cursor.layout().major < 3 { 0 } else { cursor.read_u16()?.cast_signed() };
    Ok(StoredEntry { offset, delta, kind, length })
}

/// Returns the number that Linux showed for an inode of versions 1 and 2, which store none.
pub(crate) fn shown_number(block: u32, offset: u16) -> u32 {
    (block << 8).wrapping_add(u32::from(offset >> 2)).wrapping_add(1)
}
