//! Lists the compressed blocks of the image in a file.

use std::sync::Arc;

use packline_codec::Spec;
use packline_runtime::memory::Shortage;
use packline_runtime::{Input, Resources};
use packline_squashfs::BlockSize;
use packline_squashfs::read::{Image, ReadError, StoredBlock, StoredKind};

use super::form::Block;
use crate::{Error, Side};

/// Upper bound for the blocks of an image. A file with more blocks is its own plain form. It is a constant, because the bytes of a delta
/// depend on it.
const BLOCKS_MOST: usize = 1 << 22;
/// The bytes of metadata that are cached while the blocks are listed.
const CACHE: usize = 1 << 20;
/// Duplicates are removed after at least this many blocks.
const SORT_LEAST: usize = 1 << 14;

/// Memory of an entry of a growing list, in bytes.
const ENTRY_MEMORY: u64 = 3 * size_of::<Block>() as u64;
/// Memory of the longest list, which has each block twice, in bytes.
const LIST_MEMORY: u64 = 2 * BLOCKS_MOST as u64 * ENTRY_MEMORY;

/// The image in a file.
#[derive(Debug)]
pub(crate) struct FoundImage {
    /// The codec, with the parameters that the image states.
    pub(crate) codec: Spec,
    pub(crate) block_size: BlockSize,
    /// The compressed blocks in the order of the file. They do not overlap, and no block is empty.
    pub(crate) blocks: Vec<Block>,
}

/// Finds the first image in a file. Returns `None` if there is no image, or if it has too many blocks.
///
/// # Errors
/// [`Error::Input`], [`Error::Work`], [`Error::Memory`].
pub(crate) fn find(side: Side, input: &Arc<dyn Input>, resources: &Resources) -> Result<Option<FoundImage>, Error> {
    let Some(image) = unless_faulty(side, Image::open_current(input, CACHE))? else { return Ok(None) };
    let origin = image.origin();
    let size = input.size();
    let most = in_memory(resources.memory);
    let mut list = List { origin, size, most, ..List::default() };
    let listed = image.each_stored_block(BLOCKS_MOST as u32, &resources.cancel, &mut |block| list.add(block));
    if let (true, Some(allowed)) = (list.no_memory, resources.memory) {
        return Err(Shortage { allowed, needed: LIST_MEMORY }.of("the list of an image's blocks").into());
    }
    if unless_faulty(side, listed)?.is_none() || list.sort().is_none() {
        return Ok(None);
    }
    let block_size = image.superblock().block_size;
    Ok(Some(FoundImage { codec: image.codec().clone(), block_size, blocks: list.without_overlaps() }))
}

/// Returns how many entries of a list fit in the memory.
fn in_memory(memory: Option<u64>) -> usize {
    memory.map_or(usize::MAX, |bytes| usize::try_from(bytes / ENTRY_MEMORY).unwrap_or(usize::MAX))
}

/// Returns `None` for a fault of the image.
fn unless_faulty<T>(side: Side, read: Result<T, ReadError>) -> Result<Option<T>, Error> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(ReadError::Corrupt(_) | ReadError::Unsupported(_)) => Ok(None),
        Err(ReadError::Input { cause, .. }) => {
            Err(Error::Input { side, cause: std::io::Error::new(cause.kind(), cause.to_string()) })
        }
        Err(ReadError::Work(fault)) => Err(fault.into()),
    }
}

/// The list of the blocks that were found.
#[derive(Debug, Default)]
struct List {
    origin: u64,
    /// Length of the file in bytes.
    size: u64,
    blocks: Vec<Block>,
    /// The length at which the list is sorted next.
    next_sort: usize,
    too_many: bool,
    /// Upper bound for the entries that fit in the memory.
    most: usize,
    no_memory: bool,
}

impl List {
    /// Adds a block. Files share blocks, so block lists may have far more entries than there are blocks.
    fn add(&mut self, found: StoredBlock) {
        let is_metadata = found.kind == StoredKind::Metadata;
        // The decoded length of a metadata block does not include the header.
        let block = Block::new(self.origin.saturating_add(found.offset), found.stored, found.length, is_metadata);
        self.no_memory |= self.blocks.len() == self.most;
        if self.too_many || self.no_memory || found.length == 0 || block.is_beyond(self.size) {
            return;
        }
        self.blocks.push(block);
        if self.blocks.len() >= self.next_sort.max(SORT_LEAST) {
            self.too_many = self.sort().is_none();
            self.next_sort = 2 * self.blocks.len();
        }
    }

    /// Removes duplicates. Returns `None` if too many blocks are left.
    fn sort(&mut self) -> Option<()> {
        self.blocks.sort_unstable_by_key(|block| (block.at, block.stored, block.is_metadata(), block.plain()));
        self.blocks.dedup_by_key(|block| block.at);
        (!self.too_many && self.blocks.len() <= BLOCKS_MOST).then_some(())
    }

    /// Returns the blocks that do not begin in another block.
    fn without_overlaps(mut self) -> Vec<Block> {
        let mut end = 0;
        self.blocks.retain(|block| {
            let keep = block.at >= end;
            end = if keep { block.end() } else { end };
            keep
        });
        self.blocks.shrink_to_fit();
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_squashfs::read::StoredKind::Data;

    fn listed(most: usize) -> List {
        let mut list = List { origin: 10, size: 1000, most, ..List::default() };
        for (offset, stored) in [(500, 9), (100, 50), (100, 40), (120, 60), (989, 2), (u64::MAX - 20, 30), (140, 5)] {
            list.add(StoredBlock { kind: Data, offset, stored, length: 100 });
        }
        list
    }

    #[test]
    fn blocks_are_in_order_without_overlaps_and_in_the_file() {
        let mut list = listed(usize::MAX);
        assert!(list.sort().is_some());
        let found: Vec<_> = list.without_overlaps().iter().map(|block| (block.at, block.stored)).collect();
        assert_eq!(found, [(110, 40), (150, 5), (510, 9)]);
    }

    #[test]
    fn notices_more_blocks_than_fit_in_memory() {
        assert!(listed(4).no_memory && listed(4).blocks.len() == 4);
        assert!(!listed(6).no_memory);
        assert_eq!(in_memory(Some(1 << 20)), (1 << 20) / 72);
    }
}
