//! The superblock and the tables that inodes refer to: fragment blocks, ids, extended attributes, inodes by number.

use packline_volume::Report;

use super::inodes::{Inodes, Uses};
use super::{VerifySettings, check_cancelled, record};
use crate::format::superblock::{NO_TABLE, SUPERBLOCK_BYTES, flags};
use crate::format::tables::decode::{Indexed, XattrTables};
use crate::format::xattr::decode::{MeasuredSet, measured_set};
use crate::read::metadata::Cursor;
use crate::read::{BlockDecoder, Image, ReadError};

/// Bytes after an image that are examined.
const AFTER_IMAGE: u64 = 1 << 20;
/// Bytes of extended attributes that are read in addition to sixteen times the image's length. Sets do not overlap, but values can.
const XATTR_SPACE: u64 = 64 << 20;

/// Checks flags and numbers of the superblock, and the bytes after the image.
pub(super) fn superblock(image: &Image, report: &mut Report<'_>) -> Result<(), ReadError> {
    let block = image.superblock();
    let has = |flag: u16| block.flags & flag != 0;
    if image.layout().is_old() {
        return padding(image, report);
    }
    if has(flags::NO_FRAGMENTS) && block.fragments > 0 {
        report.note(24, format!("flag of no fragments, {} fragment blocks", block.fragments), "no fragment blocks");
    }
    if has(flags::EXPORTABLE) != (block.export_table != NO_TABLE) {
        let flag = has(flags::EXPORTABLE);
        let table = block.export_table != NO_TABLE;
        report.fault(24, format!("flag of an export table {flag}, export table {table}"), "both or neither");
    }
    if has(flags::NO_XATTRS) && block.xattr_table != NO_TABLE {
        report.fault(24, "flag of no extended attributes, and a table of them".to_string(), "one or the other");
    }
    for (what, expected) in image.with_options(|options| options.oddities())? {
        report.fault(SUPERBLOCK_BYTES, what, expected);
    }
    padding(image, report)
}

fn padding(image: &Image, report: &mut Report<'_>) -> Result<(), ReadError> {
    let end = image.superblock().bytes_used + record::length(image, report)?;
    let length = image.store().size().saturating_sub(end);
    let mut bytes = vec![0; length.min(AFTER_IMAGE) as usize];
    if let Err(error) = image.store().read(end, &mut bytes) {
        return report.unread(None, error);
    }
    report.bytes_after(end, length, &bytes);
    Ok(())
}

/// Checks the tables that inodes refer to, and finds unused entries.
pub(super) fn used(
    image: &Image,
    uses: &Uses,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    if let Some(table) = &image.tables().fragments {
        fragments(image, table, uses, settings, report)?;
    }
    ids(image, uses, report);
    if let Some(tables) = &image.tables().xattrs {
        xattrs(image, tables, uses, settings, report)?;
    }
    Ok(())
}

/// An entry is start u64, size word u32, unused u32. Unused blocks are decoded here, the others with the files.
fn fragments(
    image: &Image,
    table: &Indexed,
    uses: &Uses,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    let mut unused = 0u64;
    let mut decoder = None;
    let mut bytes = Vec::new();
    for index in 0..image.superblock().fragments {
        check_cancelled(settings)?;
        report.totals.fragments += 1;
        match table.at(image.store(), u64::from(index)).and_then(|mut cursor| spare_word(&mut cursor)) {
            Ok(0) => {}
            Ok(word) => report.note(table.area.start, format!("spare word {word:#x} of fragment block {index}"), "0"),
            Err(error) => {
                report.unread(None, error)?;
                continue;
            }
        }
        let place = match image.fragment(index) {
            Ok(place) => place,
            Err(error) => {
                report.unread(None, error)?;
                continue;
            }
        };
        report.totals.unchecked += u64::from(!record::has_checksum(image, &place));
        if place.offset < image.data_start() {
            let expected = format!("at least byte {}, after the superblock", image.data_start());
            report.fault(place.offset, format!("fragment block {index}"), expected);
        }
        if uses.fragments.get(index as usize) == Some(&true) {
            continue;
        }
        unused += 1;
        let decoder = match &mut decoder {
            Some(decoder) => decoder,
            none => none.insert(BlockDecoder::new(image)?),
        };
        if let Err(error) = decoder.fragment(place, &mut bytes) {
            report.unread(None, error)?;
        }
    }
    if unused > 0 {
        report.note(table.area.start, format!("{unused} fragment blocks that no file uses"), "none");
    }
    Ok(())
}

fn spare_word(cursor: &mut Cursor) -> Result<u32, ReadError> {
    cursor.read_u64()?;
    cursor.read_u32()?;
    cursor.read_u32()
}

fn ids(image: &Image, uses: &Uses, report: &mut Report<'_>) {
    let start = image.tables().ids.as_ref().map_or(0, |ids| ids.area.start);
    let unused = uses.ids.iter().filter(|(_, used)| !used).count();
    let twice = uses.ids.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
    if unused > 0 {
        report.note(start, format!("{unused} ids that no inode uses"), "none");
    }
    if uses.ids.iter().any(|(id, used)| *used && *id == u32::MAX) {
        report.unusable_owner(start);
    }
    if twice > 0 {
        report.note(start, format!("{twice} ids that occur more than once"), "each once");
    }
}

fn xattrs(
    image: &Image,
    tables: &XattrTables,
    uses: &Uses,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    spare_xattr_word(image, report)?;
    let mut left = image.superblock().bytes_used.saturating_mul(16).saturating_add(XATTR_SPACE);
    for index in 0..tables.sets.count as u32 {
        check_cancelled(settings)?;
        let set = match measured_set(image.store(), tables, index) {
            Ok(set) => set,
            Err(error) => {
                report.unread(None, error)?;
                continue;
            }
        };
        measure(index, &set, tables, report);
        let bytes: usize = set.xattrs.iter().map(|xattr| xattr.name.len() + xattr.value.len()).sum();
        let Some(rest) = left.checked_sub(bytes as u64 + 1) else {
            let what = format!("sets of extended attributes up to {index} with more bytes than the image can hold");
            report.fault(tables.values.start, what, "sets that do not overlap");
            return Ok(());
        };
        left = rest;
    }
    let unused = tables.sets.count - uses.xattrs.iter().filter(|used| **used).count() as u64;
    if unused > 0 {
        report.note(tables.sets.area.start, format!("{unused} sets of extended attributes that no inode uses"), "none");
    }
    Ok(())
}

/// Checks the last word of the table's header, which is unused.
fn spare_xattr_word(image: &Image, report: &mut Report<'_>) -> Result<(), ReadError> {
    let at = image.superblock().xattr_table.saturating_add(12);
    let mut word = [0; 4];
    match image.store().read(at, &mut word) {
        Ok(()) if word == [0; 4] => {}
        Ok(()) => report.note(at, format!("spare word {word:02x?} of the extended attributes"), "0"),
        Err(error) => report.unread(None, error)?,
    }
    Ok(())
}

/// Checks that a set has each name once, and states its size.
fn measure(index: u32, set: &MeasuredSet, tables: &XattrTables, report: &mut Report<'_>) {
    let start = tables.sets.area.start;
    if ![set.stored, set.listed].contains(&u64::from(set.stated)) {
        let what = format!("set {index} of extended attributes that says it takes {} bytes", set.stated);
        report.fault(start, what, format!("{} or {} bytes", set.stored, set.listed));
    }
    let mut names: Vec<&[u8]> = set.xattrs.iter().map(|xattr| &xattr.name[..]).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let what = format!("set {index} of extended attributes with \"{}\" twice", pair[0].escape_ascii());
        report.fault(start, what, "each name once");
    }
}

/// Checks that the export table has the position of each inode.
pub(super) fn exports(
    image: &Image,
    inodes: &Inodes,
    settings: &VerifySettings,
    report: &mut Report<'_>,
) -> Result<(), ReadError> {
    let Some(table) = &image.tables().exports else { return Ok(()) };
    for (index, record) in inodes.records.iter().enumerate() {
        check_cancelled(settings)?;
        let number = index as u32 + 1;
        match image.export(number) {
            Ok(found) if found == record.at() || record.at().is_none() => {}
            Ok(found) => {
                let what = format!("export table: inode {number} at {:#x}", found.map_or(0, |at| at.0));
                let expected = format!("{:#x}", record.at().map_or(0, |at| at.0));
                report.fault(table.area.start, what, expected);
            }
            Err(error) => report.unread(None, error)?,
        }
    }
    Ok(())
}
