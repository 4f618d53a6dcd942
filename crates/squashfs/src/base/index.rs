//! Blocks of a base, found by the hash of their content.

use hashbrown::HashTable;
use packline_cache::ContentDigest;

use crate::read::BlockPlace;

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
