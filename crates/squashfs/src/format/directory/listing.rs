//! Directory listings, read entry by entry.
//!
//! SquashFS 4.0; the parent module, which encodes the layout, describes it. `old.rs` has the layouts of earlier versions.

use std::cmp::Ordering;
use std::sync::Arc;
use std::vec::IntoIter;

use packline_codec::METADATA_BLOCK_SIZE;
use packline_volume::{DirEntry, Entries, EntryFields, NodeId, ReadError};

use super::old;
use crate::read::inode::{DirData, node_type};
use crate::read::metadata::{Area, Cursor, MetaPlace, Store};

/// Maximum number of entries of a run.
const MOST_ENTRIES: u32 = 256;
/// Length of a run's header in bytes.
const HEADER_BYTES: u32 = 12;
/// Length in bytes of an entry without its name.
const ENTRY_BYTES: u32 = 8;
/// Longest name, bytes: Linux's limit. The format allows one byte more.
const LONGEST_NAME: usize = 255;
/// Length in bytes of an entry of a directory's index without its name.
const INDEX_BYTES: usize = 12;

/// The current run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    pub(super) entries: u32,
    /// Start of the inodes' metadata block, bytes from the start of the inode table.
    pub(super) block: u32,
    /// The inode number that entries are relative to; 0 in versions before 3.
    pub(super) base: u32,
}

/// An entry as stored, without its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredEntry {
    /// Offset of the inode in its metadata block.
    pub(super) offset: u16,
    /// The inode number, less that of the run.
    pub(super) delta: i16,
    pub(super) kind: u16,
    /// Length of the name less one.
    pub(super) length: u16,
}

/// The entries of one directory, in the order of their names. The iterator ends after the first error.
#[derive(Debug)]
pub struct Listing {
    cursor: Cursor,
    /// Bytes of the listing left.
    left: u32,
    run: Run,
    /// The last name read, empty before the first.
    name: Vec<u8>,
    /// The sorted entries of a listing that is not sorted, after they have been read.
    sorted: Option<IntoIter<DirEntry>>,
}

impl Listing {
    pub(crate) fn new(store: &Arc<Store>, area: Area, directory: &DirData) -> Listing {
        Listing::at(Cursor::new(store, area, directory.listing), directory.length)
    }

    /// A listing of `length` bytes from the cursor on.
    fn at(cursor: Cursor, length: u32) -> Listing {
        Listing { cursor, left: length, run: Run::default(), name: Vec::new(), sorted: None }
    }

    fn has_sorted_names(&self) -> bool {
        !self.cursor.layout().has_unsorted_listings()
    }

    fn entry(&mut self) -> Result<EntryFields, ReadError> {
        if self.run.entries == 0 {
            self.run = self.header()?;
        }
        let sizes = old::sizes(self.cursor.layout().major);
        self.take(sizes.map_or(ENTRY_BYTES, |sizes| sizes.entry))?;
        let place = self.cursor.place();
        let stored = if sizes.is_some() { old::entry(&mut self.cursor)? } else { self.stored_entry()? };
        let listed = self.listed(place, stored)?;
        self.next_name(place, usize::from(stored.length) + 1)?;
        self.run.entries -= 1;
        Ok(listed)
    }

    /// Offset u16, number i16, type u16, length of the name less one u16.
    fn stored_entry(&mut self) -> Result<StoredEntry, ReadError> {
        let order = self.cursor.layout().order;
        let bytes: [u8; ENTRY_BYTES as usize] = self.cursor.array()?;
        let [offset, delta, kind, length] = [0, 2, 4, 6].map(|at| order.half([bytes[at], bytes[at + 1]]));
        Ok(StoredEntry { offset, delta: delta.cast_signed(), kind, length })
    }

    /// Number of entries less one u32, block of the inodes u32, base of the numbers u32.
    fn header(&mut self) -> Result<Run, ReadError> {
        if let Some(sizes) = old::sizes(self.cursor.layout().major) {
            self.take(sizes.header)?;
            return old::header(&mut self.cursor);
        }
        self.take(HEADER_BYTES)?;
        let place = self.cursor.place();
        let [count, block, base] = [self.cursor.read_u32()?, self.cursor.read_u32()?, self.cursor.read_u32()?];
        if count >= MOST_ENTRIES {
            return Err(fault(place, format!("directory header with {} entries", u64::from(count) + 1), "1 to 256"));
        }
        Ok(Run { entries: count + 1, block, base })
    }

    fn listed(&self, place: MetaPlace, stored: StoredEntry) -> Result<EntryFields, ReadError> {
        let StoredEntry { offset, delta, kind, .. } = stored;
        if usize::from(offset) >= METADATA_BLOCK_SIZE {
            return Err(fault(place, format!("directory entry with inode offset {offset}"), "less than 8192"));
        }
        let found = node_type(kind);
        let kind = found.ok_or_else(|| fault(place, format!("directory entry of type {kind}"), "1 to 7"))?;
        let inode = NodeId(u64::from(self.run.block) << 16 | u64::from(offset));
        let has_number = self.cursor.layout().major > 2;
        let stated = self.run.base.wrapping_add_signed(delta.into());
        let number = if has_number { stated } else { old::shown_number(self.run.block, offset) };
        Ok(EntryFields { inode, number: number.into(), kind })
    }

    fn next_name(&mut self, place: MetaPlace, length: usize) -> Result<(), ReadError> {
        if length > LONGEST_NAME {
            return Err(fault(place, format!("name of {length} bytes"), "1 to 255"));
        }
        self.take(length as u32)?;
        let mut bytes = [0; LONGEST_NAME];
        let name = &mut bytes[..length];
        self.cursor.read_exact(name)?;
        check_name(place, name)?;
        if self.has_sorted_names() && *name <= *self.name {
            let what = format!("name {} after {}", quoted(name), quoted(&self.name));
            return Err(fault(place, what, "names in ascending order, each once"));
        }
        self.name.clear();
        self.name.extend_from_slice(name);
        Ok(())
    }

    /// Subtracts bytes from the remaining length.
    fn take(&mut self, bytes: u32) -> Result<(), ReadError> {
        let left = self.left.checked_sub(bytes);
        let place = self.cursor.place();
        self.left = left.ok_or_else(|| {
            fault(place, format!("listing with {} bytes left", self.left), &format!("{bytes}, or the end"))
        })?;
        Ok(())
    }

    fn with_name(&self, listed: EntryFields) -> DirEntry {
        let EntryFields { inode, number, kind } = listed;
        DirEntry { name: self.name.clone(), inode, number, kind }
    }

    /// Returns the entry with a name, if the listing has not passed the name.
    pub(crate) fn find(&mut self, name: &[u8]) -> Result<Option<DirEntry>, ReadError> {
        while let Some(listed) = self.step() {
            let listed = listed?;
            match self.name.as_slice().cmp(name) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(self.with_name(listed))),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    /// Skips to the start of a run in the index: `position` bytes after the start of the listing, in the metadata block at `block`.
    fn jump(&mut self, directory: &DirData, (position, block): (u32, u64)) {
        let offset = (u64::from(directory.listing.offset) + u64::from(position)) % METADATA_BLOCK_SIZE as u64;
        self.cursor.seek(MetaPlace { block, offset: offset as u16 });
        self.left = directory.length - position;
    }
}

impl Listing {
    /// Returns the first name of the run of an index entry; `None` if the position is invalid.
    pub(crate) fn name_at(mut self, directory: &DirData, (position, block): (u32, u64)) -> Option<Vec<u8>> {
        if position >= directory.length {
            return None;
        }
        self.jump(directory, (position, block));
        self.step()?.ok().map(|_| self.name)
    }
}

impl Listing {
    /// Returns the next entry in the order of the image.
    fn stored_step(&mut self) -> Option<Result<EntryFields, ReadError>> {
        if self.left == 0 && self.run.entries == 0 {
            return None;
        }
        let entry = self.entry();
        if entry.is_err() {
            self.left = 0;
            self.run.entries = 0;
        }
        Some(entry)
    }

    /// Returns the next entry in the order of the names. Reads all entries first; `format::inode::old` bounds the length of the listing.
    fn sorted_step(&mut self) -> Option<Result<EntryFields, ReadError>> {
        if self.sorted.is_none() {
            match self.read_sorted() {
                Ok(entries) => self.sorted = Some(entries.into_iter()),
                Err(fault) => {
                    self.sorted = Some(Vec::new().into_iter());
                    return Some(Err(fault));
                }
            }
        }
        let DirEntry { name, inode, number, kind } = self.sorted.as_mut()?.next()?;
        self.name = name;
        Some(Ok(EntryFields { inode, number, kind }))
    }

    fn read_sorted(&mut self) -> Result<Vec<DirEntry>, ReadError> {
        let mut entries = Vec::new();
        while let Some(listed) = self.stored_step() {
            entries.push(self.with_name(listed?));
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(fault(self.cursor.place(), format!("name {} twice", quoted(&pair[0].name)), "each name once"));
        }
        Ok(entries)
    }
}

impl Entries for Listing {
    fn step(&mut self) -> Option<Result<EntryFields, ReadError>> {
        if self.has_sorted_names() { self.stored_step() } else { self.sorted_step() }
    }

    fn name(&self) -> &[u8] {
        &self.name
    }

    fn release(&mut self) {
        self.cursor.release();
    }
}

impl Iterator for Listing {
    type Item = Result<DirEntry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().map(|listed| listed.map(|listed| self.with_name(listed)))
    }
}

/// Finds the entry with a name through the directory's index; `inodes` is a cursor of the inode table. If the index is invalid, the complete
/// listing is read.
pub(crate) fn lookup(
    mut listing: Listing,
    inodes: Cursor,
    directory: &DirData,
    name: &[u8],
) -> Result<Option<DirEntry>, ReadError> {
    let Some(start) = from_index(inodes, &listing.cursor, directory, name)? else {
        return listing.find(name);
    };
    let again = Cursor::clone(&listing.cursor);
    listing.jump(directory, start);
    listing.find(name).or_else(|_| Listing::at(again, directory.length).find(name))
}

/// Returns the last run of the index whose first name is not greater than `name`: its position in the listing, and the start of its block.
///
/// Position u32, block u32, length of the name less one u32, name.
fn from_index(
    mut inodes: Cursor,
    listing: &Cursor,
    directory: &DirData,
    name: &[u8],
) -> Result<Option<(u32, u64)>, ReadError> {
    let mut found = None;
    let order = inodes.layout().order;
    for _ in 0..directory.indices {
        let bytes: [u8; INDEX_BYTES] = inodes.array()?;
        let word = |at: usize| order.word([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let position = word(0);
        let block = listing.area().start + u64::from(word(4));
        let length = word(8) as usize + 1;
        let mut first = [0; LONGEST_NAME];
        // An invalid index does no harm: the listing is complete without it.
        let Some(first) = first.get_mut(..length) else { return Ok(None) };
        inodes.read_exact(first)?;
        if *first > *name {
            break;
        }
        if position >= directory.length || block >= listing.area().end {
            return Ok(None);
        }
        found = Some((position, block));
    }
    Ok(found)
}

fn check_name(place: MetaPlace, name: &[u8]) -> Result<(), ReadError> {
    let dots = name == b"." || name == b"..";
    if !dots && memchr::memchr2(0, b'/', name).is_none() {
        return Ok(());
    }
    Err(fault(place, format!("name {}", quoted(name)), "a name without slash and NUL, and not . or .."))
}

fn quoted(name: &[u8]) -> String {
    format!("\"{}\"", name.escape_ascii())
}

fn fault(place: MetaPlace, what: String, expected: &str) -> ReadError {
    let what = format!("{what}, at offset {} of the metadata block", place.offset);
    ReadError::corrupt(place.block, what, expected)
}
