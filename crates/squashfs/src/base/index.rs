//! Blocks of a base by the hash of their content.

use hashbrown::HashTable;
use packline_cache::ContentDigest;

use crate::read::BlockPlace;

/// One block of a base.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Of what it was decoded to.
    pub(super) content: ContentDigest,
    /// Of its bytes in the base.
    pub(super) stored: ContentDigest,
    pub(super) place: BlockPlace,
}

/// Blocks of different contents.
#[derive(Debug)]
pub(super) struct Index {
    entries: Vec<Entry>,
    by_content: HashTable<u32>,
}

impl Index {
    /// Of equal contents the first usable one counts.
    pub(super) fn new(entries: Vec<Entry>, is_usable: impl Fn(&Entry) -> bool) -> Index {
        let mut by_content = HashTable::with_capacity(entries.len());
        for (number, entry) in (0..).zip(&entries) {
            let bits = |number: &u32| entries[*number as usize].content.bits();
            let same = |other: &u32| entries[*other as usize].content == entry.content;
            if is_usable(entry) && by_content.find(entry.content.bits(), same).is_none() {
                by_content.insert_unique(entry.content.bits(), number, bits);
            }
        }
        Index { entries, by_content }
    }

    pub(super) fn find(&self, content: &ContentDigest) -> Option<&Entry> {
        let found =
            self.by_content.find(content.bits(), |&number| self.entries[number as usize].content == *content)?;
        Some(&self.entries[*found as usize])
    }

    pub(super) fn len(&self) -> usize {
        self.by_content.len()
    }

    /// Memory, bytes.
    pub(super) fn memory(&self) -> u64 {
        (self.entries.capacity() * size_of::<Entry>() + self.by_content.allocation_size()) as u64
    }
}
