//! Earlier positions by hash.

use super::{LARGEST_LOG, prefetch};

const POSITION: u64 = (1 << LARGEST_LOG) - 1;
/// Positions of a row.
pub(super) const ROW: usize = 3;

/// The latest positions of each hash, in rows of three.
pub(super) struct Table {
    rows: Box<[u64]>,
}

impl Table {
    pub(super) fn new(bits: u32) -> Table {
        Table { rows: vec![0; 1 << bits].into_boxed_slice() }
    }

    pub(super) fn clear(&mut self) {
        self.rows.fill(0);
    }

    /// Adds the latest position of a hash. Returns the positions before it, from the latest on.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: usize, position: u32) -> [u32; ROW] {
        let row = &mut self.rows[slot];
        let before = *row;
        *row = before << LARGEST_LOG | u64::from(position);
        [0, 1, 2].map(|index| (before >> (LARGEST_LOG * index) & POSITION) as u32)
    }

    /// Loads a row ahead of its use.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: usize) {
        prefetch(&self.rows, slot);
    }
}
