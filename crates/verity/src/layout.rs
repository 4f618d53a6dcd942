//! Where the blocks of a tree lie.

use crate::Error;
use crate::salted::DIGEST;
use crate::superblock;

/// Bytes of a block, of data and of hashes.
pub const BLOCK: usize = 4096;
/// The same as an offset.
pub(crate) const BLOCK_BYTES: u64 = BLOCK as u64;
/// Hashes in a block.
pub(crate) const FANOUT: u64 = (BLOCK / DIGEST) as u64;
/// Blocks of data at most, so that no offset overflows.
const MOST_BLOCKS: u64 = 1 << 50;

/// A level of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    /// Its first block, bytes from the block behind the superblock.
    pub(crate) start: u64,
    /// Its number of blocks.
    pub(crate) blocks: u64,
}

/// The levels of the tree of so many blocks of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The lowest, with the hashes of the data, first. None for one block of data.
    pub(crate) levels: Vec<Level>,
}

impl Layout {
    /// # Errors
    /// [`Error::Superblock`] for none, and for more than any medium has.
    pub(crate) fn of(data_blocks: u64) -> Result<Layout, Error> {
        if data_blocks == 0 || data_blocks > MOST_BLOCKS {
            let what = format!("a hash tree of {data_blocks} blocks of data");
            return Err(Error::Superblock { what, expected: format!("1 to {MOST_BLOCKS}") });
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

/// Bytes of the tree of so many bytes of data, with the superblock's block.
///
/// # Errors
/// [`Error::Size`] for data that is not whole blocks.
pub fn tree_size(bytes: u64) -> Result<u64, Error> {
    Ok(BLOCK_BYTES + Layout::of(whole_blocks(bytes)?)?.bytes())
}

/// Blocks of data that has no part of one.
pub(crate) fn whole_blocks(bytes: u64) -> Result<u64, Error> {
    if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) { Err(Error::Size { bytes }) } else { Ok(bytes / BLOCK_BYTES) }
}

/// The number of blocks of data that, with their tree behind them, make a file of so many bytes, with all of the superblock: there is one at
/// most.
pub(crate) fn blocks_before_tree(bytes: u64) -> Option<u64> {
    let total = bytes.div_ceil(BLOCK_BYTES).min(MOST_BLOCKS);
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
    fn a_tree_has_a_whole_superblock() {
        let found = [4096, 4097, 4607, 4608, 8192].map(blocks_before_tree);
        assert_eq!(found, [None, None, None, Some(1), Some(1)]);
    }

    #[test]
    fn levels_lie_as_those_of_veritysetup() {
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
    fn the_size_of_a_file_tells_where_its_tree_begins() {
        for blocks in (1..2000).chain([16383, 16384, 16385, 1 << 20, MOST_BLOCKS / 4]) {
            let bytes = blocks * BLOCK_BYTES;
            assert_eq!(blocks_before_tree(bytes + tree_size(bytes).unwrap()), Some(blocks));
        }
        assert_eq!([0, 1, 4096, 3 * 4096].map(blocks_before_tree), [None; 4]);
        assert_eq!(blocks_before_tree(u64::MAX), blocks_before_tree(MOST_BLOCKS * BLOCK_BYTES));
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(Layout::of(0).is_err() && Layout::of(u64::MAX).is_err());
        assert!(tree_size(0).is_err() && tree_size(4097).is_err());
    }
}
