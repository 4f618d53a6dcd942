//! Blocks of a base: the positions of all blocks of an image, each once, and an index by the hash of their content.

use super::{BaseError, BaseSettings};
use crate::read::inode::each_inode;
use crate::read::{BlockPlace, FileData, Image, Node, ReadError};
use hashbrown::HashTable;
use packline_cache::ContentDigest;
use packline_engine::CancelToken;
use packline_runtime::unless_cancelled;

/// Memory for a block, bytes: its position in a list that grows, and its entries in the index and in the index's table.
const PLACE_MEMORY: u64 = (2 * size_of::<BlockPlace>() + size_of::<Entry>() + 16) as u64;
/// Minimum number of positions between two removals of duplicates.
const SORT_LEAST: usize = 1 << 12;

/// Positions of blocks in the data area, in its order; none overlaps another.
#[derive(Debug, Default)]
pub(super) struct Places {
    list: Vec<BlockPlace>,
    /// Length of the list at which it is sorted next.
    next_sort: usize,
    /// Number of blocks so far, duplicates included.
    met: u64,
    /// Whether the blocks need more memory than the limit.
    too_many: bool,
    most: Option<u64>,
}

impl Places {
    /// Returns the data blocks of all inodes, and the fragment blocks. Broken block lists end early.
    pub(super) fn of(image: &Image, settings: &BaseSettings) -> Result<Places, BaseError> {
        let mut places = Places { most: settings.memory, ..Places::default() };
        let cancel = &settings.engine.cancel;
        each_inode(image, cancel, |inode, _| {
            if let Node::File(file) = &inode.node {
                places.add_blocks(image, file, cancel);
            }
        })?;
        for index in 0..image.superblock().fragments {
            unless_cancelled(cancel).map_err(ReadError::from)?;
            places.add(image.fragment(index)?);
        }
        places.sort();
        places.keep_data_area(image);
        if places.too_many { Err(places.shortage()) } else { Ok(places) }
    }

    pub(super) fn list(&self) -> &[BlockPlace] {
        &self.list
    }

    fn add_blocks(&mut self, image: &Image, file: &FileData, cancel: &CancelToken) {
        let blocks = image.blocks(file).map_while(|block| block.ok().filter(|_| !cancel.is_cancelled()));
        blocks.filter_map(|block| block.place).for_each(|place| self.add(place));
    }

    /// Files share blocks, so block lists may have far more entries than the image has blocks.
    fn add(&mut self, place: BlockPlace) {
        self.met += 1;
        if self.too_many {
            return;
        }
        self.list.push(place);
        if self.list.len() >= self.next_sort.max(SORT_LEAST) || self.is_full() {
            self.sort();
            self.next_sort = self.list.len() * 2;
            self.too_many = self.is_full();
        }
    }

    fn sort(&mut self) {
        self.list.sort_unstable_by_key(|place| (place.offset, place.stored, place.compressed));
        self.list.dedup_by_key(|place| place.offset);
    }

    /// Drops blocks that a sound image does not have: blocks outside the data area, and blocks that overlap another.
    fn keep_data_area(&mut self, image: &Image) {
        let mut before = image.data_start();
        let end = image.superblock().inode_table;
        self.list.retain(|place| {
            let start = place.offset;
            let place_end = place.offset + u64::from(place.stored);
            let keep = start >= before && place_end <= end;
            before = if keep { place_end } else { before };
            keep
        });
    }

    fn is_full(&self) -> bool {
        let needed = self.list.len() as u64 * PLACE_MEMORY;
        self.most.is_some_and(|most| needed > most) || self.list.len() >= u32::MAX as usize
    }

    fn shortage(&self) -> BaseError {
        let blocks = self.met;
        let allowed = self.most.unwrap_or(u64::from(u32::MAX) * PLACE_MEMORY);
        BaseError::Memory { blocks, allowed, needed: blocks.saturating_mul(PLACE_MEMORY) }
    }
}

/// One block of a base.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Digest of the decoded bytes.
    pub(super) content: ContentDigest,
    /// Digest of the bytes in the base.
    pub(super) stored: ContentDigest,
    pub(super) place: BlockPlace,
}

impl Entry {
    /// `stored` are the bytes at `place`; `content` is their decoded form.
    pub(super) fn of(place: BlockPlace, stored: &[u8], content: &[u8]) -> Entry {
        let content = ContentDigest::of(content);
        let stored = if place.compressed { ContentDigest::of(stored) } else { content };
        Entry { content, stored, place }
    }
}

/// Blocks with different contents.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    by_content: HashTable<u32>,
}

impl Index {
    /// Returns an empty index with memory for this number of blocks.
    pub(super) fn with_capacity(blocks: usize) -> Index {
        Index { entries: Vec::with_capacity(blocks), by_content: HashTable::with_capacity(blocks) }
    }

    /// Adds a block, unless the index has the same content already or has no memory for one more block.
    pub(super) fn add(&mut self, entry: Entry) {
        let bits = entry.content.bits();
        let number = self.entries.len() as u32;
        if self.find(&entry.content).is_none() && self.entries.len() < self.entries.capacity() {
            self.entries.push(entry);
            self.by_content.insert_unique(bits, number, |number| self.entries[*number as usize].content.bits());
        }
    }

    pub(super) fn find(&self, content: &ContentDigest) -> Option<&Entry> {
        let found =
            self.by_content.find(content.bits(), |&number| self.entries[number as usize].content == *content)?;
        Some(&self.entries[*found as usize])
    }

    pub(super) fn len(&self) -> usize {
        self.by_content.len()
    }

    pub(super) fn memory(&self) -> u64 {
        (self.entries.capacity() * size_of::<Entry>() + self.by_content.allocation_size()) as u64
    }
}
