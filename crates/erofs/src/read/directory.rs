//! Listings of directories, read block by block.

use std::cmp::Ordering;
use std::sync::Arc;

use packline_volume::{DirEntry, Entries, EntryFields, ReadError};

use super::contents::{Content, Contents};
use super::data::{DataPlace, node_of, shown_number};
use super::inode::Inodes;
use super::span::Cursor;
use crate::format::corrupt;
use crate::format::dirent::{Broken, DirBlock, LONGEST_NAME, RawEntry, node_type};
use crate::format::superblock::Superblock;

/// The blocks of one directory. Holds one block.
#[derive(Debug)]
pub(crate) struct Blocks {
    superblock: Arc<Superblock>,
    contents: Arc<Contents>,
    place: DataPlace,
    cursor: Option<Cursor>,
    /// The current block; empty if it is not loaded.
    bytes: Vec<u8>,
    /// Index of the current block.
    index: u64,
}

impl Blocks {
    /// Loads nothing yet.
    pub(crate) fn new(superblock: &Arc<Superblock>, contents: &Arc<Contents>, place: DataPlace) -> Blocks {
        Blocks {
            superblock: Arc::clone(superblock),
            contents: Arc::clone(contents),
            place,
            cursor: None,
            bytes: Vec::new(),
            index: 0,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.place.size.div_ceil(self.superblock.block_size())
    }

    /// Loads a block below [`Blocks::count`], unless it is loaded.
    pub(crate) fn load(&mut self, index: u64) -> Result<(), ReadError> {
        if index == self.index && !self.bytes.is_empty() {
            return Ok(());
        }
        let start = index << self.superblock.block_bits;
        let length = (self.place.size - start).min(self.superblock.block_size());
        let cursor = self.cursor.get_or_insert_with(|| Content::cursor(&self.contents, self.place, 0));
        self.index = index;
        self.bytes.resize(length as usize, 0);
        cursor.seek(start);
        cursor.read_exact(&mut self.bytes).inspect_err(|_| self.bytes.clear())
    }

    pub(crate) fn block(&self) -> Result<DirBlock<'_>, ReadError> {
        DirBlock::new(&self.bytes).map_err(|broken| self.fault(broken))
    }

    pub(crate) fn entry<'b>(&self, block: &DirBlock<'b>, number: usize) -> Result<RawEntry<'b>, ReadError> {
        block.entry(number).map_err(|broken| self.fault(broken))
    }

    fn fault(&self, broken: Broken) -> ReadError {
        let what = format!("{} in block {} of the directory whose inode ends", broken.what, self.index);
        corrupt(self.place.end, what, broken.expected)
    }

    /// Checks the inode and the type of an entry. The inode says the type if the entry does not.
    fn fields(&self, entry: &RawEntry<'_>) -> Result<EntryFields, ReadError> {
        let inode = node_of(entry.inode, self.place.end)?;
        let kind = match node_type(entry.kind) {
            Some(kind) => kind,
            None if entry.kind == 0 => Inodes::new(&self.superblock, &self.contents).fields(inode)?.raw.kind,
            None => {
                let what = format!("directory entry of type {}", entry.kind);
                return Err(self.fault(Broken { what, expected: "0 to 7".into() }));
            }
        };
        Ok(EntryFields { inode, number: shown_number(&self.superblock, inode), kind })
    }
}

/// The entries of one directory.
#[derive(Debug)]
pub(super) struct DirListing {
    blocks: Blocks,
    /// Index of the block with the next entry.
    block: u64,
    /// Number of the next entry in the block.
    number: usize,
    /// The last name read, empty before the first.
    name: Vec<u8>,
    /// Whether the entries `.` and `..` are returned, too.
    dots: bool,
    failed: bool,
}

impl DirListing {
    pub(super) fn new(superblock: &Arc<Superblock>, contents: &Arc<Contents>, place: DataPlace) -> DirListing {
        let blocks = Blocks::new(superblock, contents, place);
        DirListing { blocks, block: 0, number: 0, name: Vec::new(), dots: false, failed: false }
    }

    /// The same, with the entries `.` and `..` if the directory has them.
    pub(super) fn with_dots(self) -> DirListing {
        DirListing { dots: true, ..self }
    }

    fn next_entry(&mut self) -> Result<Option<EntryFields>, ReadError> {
        while self.block < self.blocks.count() {
            self.blocks.load(self.block)?;
            let block = self.blocks.block()?;
            if self.number == block.entries() {
                self.block += 1;
                self.number = 0;
                continue;
            }
            let entry = self.blocks.entry(&block, self.number)?;
            if !self.name.is_empty() && entry.name <= self.name.as_slice() {
                let what = format!("name \"{}\" after \"{}\"", entry.name.escape_ascii(), self.name.escape_ascii());
                return Err(self.blocks.fault(Broken { what, expected: "names in increasing order".into() }));
            }
            self.number += 1;
            self.name.clear();
            self.name.extend_from_slice(entry.name);
            if self.dots || !matches!(entry.name, b"." | b"..") {
                return self.blocks.fields(&entry).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the entry with a name, found by binary search.
    pub(super) fn find(mut self, name: &[u8]) -> Result<Option<DirEntry>, ReadError> {
        if name.is_empty() || name.len() > LONGEST_NAME || matches!(name, b"." | b"..") {
            return Ok(None);
        }
        // The first names of all blocks before `low` are not greater than the name.
        let mut low = 0;
        let mut high = self.blocks.count();
        while low < high {
            let middle = low + (high - low) / 2;
            self.blocks.load(middle)?;
            let first = self.blocks.entry(&self.blocks.block()?, 0)?;
            if first.name <= name {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(index) = low.checked_sub(1) else { return Ok(None) };
        self.blocks.load(index)?;
        self.find_in_block(name)
    }

    fn find_in_block(&self, name: &[u8]) -> Result<Option<DirEntry>, ReadError> {
        let block = self.blocks.block()?;
        let mut low = 0;
        let mut high = block.entries();
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.blocks.entry(&block, middle)?;
            match entry.name.cmp(name) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    let EntryFields { inode, number, kind } = self.blocks.fields(&entry)?;
                    return Ok(Some(DirEntry { name: name.to_vec(), inode, number, kind }));
                }
            }
        }
        Ok(None)
    }
}

impl Entries for DirListing {
    fn step(&mut self) -> Option<Result<EntryFields, ReadError>> {
        if self.failed {
            return None;
        }
        let entry = self.next_entry().transpose()?;
        self.failed = entry.is_err();
        Some(entry)
    }

    fn name(&self) -> &[u8] {
        &self.name
    }

    fn release(&mut self) {
        self.blocks.bytes = Vec::new();
        self.blocks.cursor = None;
    }
}
