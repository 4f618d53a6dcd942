//! The blocks of the old image, by their stored bytes.

use std::sync::Arc;

use hashbrown::HashTable;
use packline_cache::ContentDigest;

use super::form::Form;

/// Finds blocks of the old image that are stored with the same bytes.
pub(crate) struct KnownBlocks {
    form: Arc<Form>,
    /// The digest of each block's stored bytes.
    digests: Vec<ContentDigest>,
    /// The first block of each digest.
    first: HashTable<u32>,
}

impl KnownBlocks {
    /// `digests` has one digest for each block of `form`.
    pub(crate) fn new(form: &Arc<Form>, digests: Vec<ContentDigest>) -> KnownBlocks {
        let mut first = HashTable::with_capacity(digests.len());
        for (number, digest) in (0_u32..).zip(&digests) {
            let same = |other: &u32| digests[*other as usize] == *digest;
            if first.find(digest.bits(), same).is_none() {
                first.insert_unique(digest.bits(), number, |number| digests[*number as usize].bits());
            }
        }
        KnownBlocks { form: Arc::clone(form), digests, first }
    }

    /// Returns the number of a block with these stored bytes that decodes to `plain` bytes. If block `expected` is such a block, its number
    /// is returned, and otherwise the first such block's.
    pub(crate) fn find(&self, digest: &ContentDigest, plain: u32, expected: u64) -> Option<u64> {
        let is_one = |number: usize| {
            self.digests.get(number) == Some(digest)
                && self.form.all().get(number).is_some_and(|block| block.plain() == plain)
        };
        if is_one(usize::try_from(expected).ok()?) {
            return Some(expected);
        }
        let number = *self.first.find(digest.bits(), |number| self.digests[*number as usize] == *digest)?;
        is_one(number as usize).then_some(number.into())
    }

    /// Memory of a block in bytes.
    pub(crate) const BLOCK_MEMORY: u64 = size_of::<ContentDigest>() as u64 + 8;
}
