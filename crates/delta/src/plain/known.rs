//! The blocks of the old image, by their stored bytes, and the lengths of blocks that differ from its inodes or cannot be decoded.

use super::form::{Block, Form};
use crate::format::NUMBERS_MOST;
use crate::format::numbers::{Fault, Numbers, put};
use hashbrown::HashTable;
use packline_cache::ContentDigest;
use std::sync::Arc;

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

/// Encodes the lengths of the blocks that differ from the list, as numbers: the number of blocks between such a block and the previous one,
/// and the block's length. `found` has the decoded length of each block; 0 if the block cannot be decoded.
///
/// Returns `None` if there are too many lengths for a delta.
pub(crate) fn lengths_of(listed: &[Block], found: &[u32]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut next = 0;
    for (number, (block, found)) in (0_u64..).zip(listed.iter().zip(found)) {
        if block.plain() != *found {
            put(&mut out, number - next);
            put(&mut out, (*found).into());
            next = number + 1;
        }
    }
    (out.len() <= NUMBERS_MOST).then_some(out)
}

/// Returns the listed blocks with these lengths, without the blocks that cannot be decoded.
pub(crate) fn apply_lengths(mut blocks: Vec<Block>, lengths: &[u8]) -> Result<Vec<Block>, Fault> {
    let mut numbers = Numbers::new(lengths);
    let mut next = 0_u64;
    while !numbers.is_at_end() {
        let number = next.saturating_add(numbers.next()?);
        let length = numbers.at_most(packline_squashfs::BlockSize::MAX.into())?;
        let found = usize::try_from(number).ok().and_then(|number| blocks.get_mut(number));
        let block = found.ok_or_else(|| (format!("the length of block {number}"), "a block of the old image"))?;
        *block = block.with_plain(length as u32);
        next = number + 1;
    }
    blocks.retain(|block| block.plain() > 0);
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_the_lengths_that_differ() {
        let listed: Vec<Block> = (1..=5).map(|at| Block::new(at * 10, 5, 100, at == 2)).collect();
        for found in [[100; 5], [100, 7, 100, 0, 100], [0; 5], [1; 5]] {
            let lengths = lengths_of(&listed, &found).unwrap();
            let applied = apply_lengths(listed.clone(), &lengths).unwrap();
            let expected = listed.iter().zip(found).map(|(block, plain)| block.with_plain(plain));
            assert_eq!(applied, expected.filter(|block| block.plain() > 0).collect::<Vec<_>>());
            assert_eq!(lengths.is_empty(), found == [100; 5]);
        }
        assert!(apply_lengths(listed.clone(), &[5, 1]).is_err());
        assert!(apply_lengths(listed, &[1]).is_err());
    }
}
