//! A directory's listing: headers, each with up to 256 entries whose inodes share a metadata block.

use super::disk::Cursor;
use super::inodes::DirBody;
use super::metadata::Table;
use crate::model::Bytes;

#[derive(Debug)]
pub(super) struct Listed {
    pub name: Bytes,
    /// The metadata block of its inode, and the offset in it.
    pub inode: (u64, usize),
    pub number: u32,
    pub basic_type: u16,
}

/// A listing and its range in the decoded directory table.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub entries: Vec<Listed>,
    pub range: std::ops::Range<usize>,
    /// For each header: its offset in the listing, its offset in the decoded table, and its first name.
    headers: Vec<(usize, usize, Bytes)>,
}

/// Reads a directory's listing and checks its order, its names and its index.
pub(super) fn read(table: &Table, directory: &DirBody) -> Result<Listing, String> {
    let length =
        directory.size.checked_sub(3).ok_or_else(|| format!("size {} (expected at least 3)", directory.size))?;
    if length == 0 {
        return Ok(Listing::default());
    }
    let start = table.locate(directory.block.into(), directory.offset.into())?;
    let range = start..start + length as usize;
    let bytes =
        table.bytes.get(..range.end).ok_or_else(|| format!("the listing ends at {} past the table", range.end))?;
    let mut listing = Listing { range: range.clone(), ..Listing::default() };
    let mut cursor = Cursor::new(bytes, start, "directory table");
    while !cursor.is_at_end() {
        header(&mut cursor, &mut listing)?;
    }
    check_names(&listing)?;
    check_index(table, directory, &listing)?;
    Ok(listing)
}

fn header(cursor: &mut Cursor, listing: &mut Listing) -> Result<(), String> {
    let at = cursor.at;
    let count = cursor.u32()?;
    let block = cursor.u32()?;
    let base = cursor.u32()?;
    if count > 255 {
        return Err(format!("a header with {} entries (expected at most 256)", u64::from(count) + 1));
    }
    let first = listing.entries.len();
    for _ in 0..=count {
        let offset = cursor.u16()?;
        let delta = cursor.i16()?;
        let basic_type = cursor.u16()?;
        let length = cursor.u16()?;
        let name = cursor.take(usize::from(length) + 1)?.to_vec();
        let number = base.wrapping_add_signed(delta.into());
        listing.entries.push(Listed { name, inode: (block.into(), offset.into()), number, basic_type });
    }
    let name = listing.entries[first].name.clone();
    listing.headers.push((at - listing.range.start, at, name));
    Ok(())
}

fn check_names(listing: &Listing) -> Result<(), String> {
    let bad =
        |name: &[u8]| name.len() > 255 || name == b"." || name == b".." || name.iter().any(|b| *b == 0 || *b == b'/');
    if let Some(entry) = listing.entries.iter().find(|entry| bad(&entry.name)) {
        return Err(format!("the name {}", entry.name.escape_ascii()));
    }
    match listing.entries.windows(2).find(|pair| pair[0].name >= pair[1].name) {
        Some(pair) => Err(format!("{} before {}", pair[0].name.escape_ascii(), pair[1].name.escape_ascii())),
        None => Ok(()),
    }
}

/// Each index entry is the first header that starts in a later metadata block than the one before.
fn check_index(table: &Table, directory: &DirBody, listing: &Listing) -> Result<(), String> {
    let mut before = 0;
    for entry in &directory.index {
        let header = listing.headers.iter().find(|(position, ..)| *position == entry.position as usize);
        let (_, at, name) =
            header.ok_or_else(|| format!("index entry at {}, where no header starts", entry.position))?;
        let block_start = table.locate(entry.block.into(), 0)?;
        if !(block_start..block_start + super::disk::METADATA_BLOCK).contains(at) || *name != entry.name {
            return Err(format!("index entry {} at {} is wrong", entry.name.escape_ascii(), entry.position));
        }
        if entry.position < before {
            return Err(format!("index entry at {} after {before}", entry.position));
        }
        before = entry.position;
    }
    Ok(())
}
