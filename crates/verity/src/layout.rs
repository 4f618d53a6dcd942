//! The locations of a tree's blocks.

use crate::hashing::DIGEST;
use crate::{Error, superblock};

/// Bytes of a block of data or of hashes.
pub const BLOCK: usize = 4096;
/// [`BLOCK`] as an offset.
pub(crate) const BLOCK_BYTES: u64 = BLOCK as u64;
/// Number of hashes in a block.
pub(crate) const FANOUT: u64 = (BLOCK / DIGEST) as u64;
/// Maximum number of data blocks, so that no offset overflows.
const MAX_BLOCKS: u64 = 1 << 50;

/// A level of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    /// Offset of the first block of the level, in bytes after the superblock's block.
    pub(crate) start: u64,
    /// Number of blocks of the level.
    pub(crate) blocks: u64,
}

/// The levels of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The levels, beginning with the lowest, which has the hashes of the data. Empty for one block of data.
    pub(crate) levels: Vec<Level>,
}

impl Layout {
    /// # Errors
    /// [`Error::Superblock`] if there is no block, or more than any medium has.
    pub(crate) fn of(data_blocks: u64) -> Result<Layout, Error> {
        if data_blocks == 0 || data_blocks > MAX_BLOCKS {
            let what = format!("a hash tree of {data_blocks} blocks of data");
            return Err(Error::Superblock { what, expected: format!("1 to {MAX_BLOCKS}") });
        }
        let mut levels = Vec::new();
        let mut blocks = data_blocks;
        while blocks > 1 {
            blocks = blocks.div_ceil(FANOUT);
            levels.push(Level { start: 0, blocks });
        }
        let mut start = 0;
        for level in levels.iter_mut().rev() {
            level.start = start;
            start += level.blocks * BLOCK_BYTES;
        }
        Ok(Layout { levels })
    }

    /// Bytes of all levels.
    pub(crate) fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.blocks * BLOCK_BYTES).sum()
    }
}

/// Bytes of the tree for `bytes` bytes of data, including the superblock's block.
///
/// # Errors
/// [`Error::Size`] if the data is not a multiple of the block size.
pub fn tree_size(bytes: u64) -> Result<u64, Error> {
    Ok(BLOCK_BYTES + Layout::of(whole_blocks(bytes)?)?.bytes())
}

/// Number of blocks of data that ends with a complete block.
pub(crate) fn whole_blocks(bytes: u64) -> Result<u64, Error> {
    if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) { Err(Error::Size { bytes }) } else { Ok(bytes / BLOCK_BYTES) }
}

/// The number of data blocks that, followed by their complete tree, give a file of `bytes` bytes. There is at most one such number.
pub(crate) fn blocks_before_tree(bytes: u64) -> Option<u64> {
    let total = bytes.div_ceil(BLOCK_BYTES).min(MAX_BLOCKS);
    let with_tree = |blocks: u64| Layout::of(blocks).map_or(1, |layout| blocks + 1 + layout.bytes() / BLOCK_BYTES);
    let mut low = 0;
    let mut high = total;
    while low < high {
        let middle = low + (high - low) / 2;
        if with_tree(middle) < total { low = middle + 1 } else { high = middle }
    }
    let has_superblock = low * BLOCK_BYTES + superblock::SIZE as u64 <= bytes;
    (low > 0 && with_tree(low) == total && has_superblock).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblock_is_written_completely() {
        let found = [4096, 4097, 4607, 4608, 8192].map(blocks_before_tree);
        assert_eq!(found, [None, None, None, Some(1), Some(1)]);
    }

    #[test]
    fn levels_are_placed_as_by_veritysetup() {
        let levels = |blocks| Layout::of(blocks).unwrap().levels.iter().map(|level| level.blocks).collect::<Vec<_>>();
        assert_eq!(levels(1), []);
        assert_eq!(levels(2), [1]);
        assert_eq!(levels(128), [1]);
        assert_eq!(levels(129), [2, 1]);
        assert_eq!(levels(128 * 128), [128, 1]);
        assert_eq!(levels(128 * 128 + 1), [129, 2, 1]);
        let starts: Vec<u64> = Layout::of(16385).unwrap().levels.iter().map(|level| level.start).collect();
        assert_eq!(starts, [3 * 4096, 4096, 0]);
    }

    #[test]
    fn file_size_determines_the_tree_offset() {
        for blocks in (1..2000).chain([16383, 16384, 16385, 1 << 20, MAX_BLOCKS / 4]) {
            let bytes = blocks * BLOCK_BYTES;
            assert_eq!(blocks_before_tree(bytes + tree_size(bytes).unwrap()), Some(blocks));
        }
        assert_eq!([0, 1, 4096, 3 * 4096].map(blocks_before_tree), [None; 4]);
        assert_eq!(blocks_before_tree(u64::MAX), blocks_before_tree(MAX_BLOCKS * BLOCK_BYTES));
    }

    #[test]
    fn rejects_impossible_sizes() {
        assert!(Layout::of(0).is_err() && Layout::of(u64::MAX).is_err());
        assert!(tree_size(0).is_err() && tree_size(4097).is_err());
    }
}
