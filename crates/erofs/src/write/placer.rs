//! Positions of inodes.
//!
//! What follows an inode inline must be in one block. The bytes that are left at the end of a block are used for later, smaller inodes.

use std::ops::Range;

/// Bytes of a slot.
pub(super) const SLOT: u64 = 32;
/// Most bytes between the start of an unused range and the end of all inodes. A writer keeps as many.
pub(super) const WINDOW: u64 = 64 << 10;
/// Most unused ranges that are remembered.
const GAPS: usize = 32;

/// An inode to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Bytes with what follows the inode.
    pub(super) bytes: u64,
    /// How many of the last bytes must be in one block: all, or at most as many as a block has without a slot.
    pub(super) together: u64,
}

/// Chooses positions, which depend on the sequence of calls alone.
#[derive(Debug, Clone)]
pub(super) struct Placer {
    /// Offset after all inodes; a multiple of [`SLOT`].
    end: u64,
    /// Unused ranges, each in one block, in their order.
    gaps: Vec<Range<u64>>,
    /// Bytes of a block.
    block: u64,
}

impl Placer {
    /// Starts at an offset, a multiple of [`SLOT`]. Offset 0 is the start of a block of `block` bytes.
    pub(super) fn new(start: u64, block: u64) -> Placer {
        Placer { end: start, gaps: Vec::new(), block }
    }

    /// Returns the offset after all inodes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the offset of the next inode.
    pub(super) fn place(&mut self, extent: Extent) -> u64 {
        let bytes = extent.bytes.next_multiple_of(SLOT);
        if let Some(index) = self.gaps.iter().position(|gap| gap.end - gap.start >= bytes) {
            let gap = &mut self.gaps[index];
            let start = gap.start;
            gap.start += bytes;
            if gap.is_empty() {
                self.gaps.remove(index);
            }
            return start;
        }
        // Where the last bytes would start.
        let at = (self.end + extent.bytes - extent.together) % self.block;
        if at + extent.together > self.block {
            let start = self.end + (self.block - at).next_multiple_of(SLOT);
            let border = self.end.next_multiple_of(self.block).min(start);
            let gaps = [self.end..border, border..start];
            self.gaps.extend(gaps.into_iter().filter(|gap| !gap.is_empty()));
            self.end = start;
        }
        let start = self.end;
        self.end += bytes;
        let least = self.end.saturating_sub(WINDOW);
        self.gaps.retain(|gap| gap.start >= least);
        let surplus = self.gaps.len().saturating_sub(GAPS);
        self.gaps.drain(..surplus);
        start
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use super::*;
    use crate::options::BLOCK;

    #[test]
    fn inodes_do_not_overlap_and_inline_parts_do_not_cross_blocks() {
        let mut random = Random::new(3);
        for start in [32, 4000 / 32 * 32] {
            let mut placer = Placer::new(start, BLOCK);
            let mut placed = Vec::new();
            let mut wanted = 0;
            for _ in 0..20_000 {
                let kind = random.below(3);
                let most = if kind == 0 { BLOCK - 32 } else { 9000 };
                let most = 1 + random.below(most);
                let bytes = 32 + random.below(most);
                let together = match kind {
                    0 => bytes,
                    1 => 0,
                    _ => random.below(bytes.min(BLOCK - 32)),
                };
                let extent = Extent { bytes, together };
                let before = placer.end();
                let at = placer.place(extent);
                assert!(at >= start && at.is_multiple_of(SLOT) && at + WINDOW >= before);
                assert!((at + bytes - together) % BLOCK + together <= BLOCK);
                placed.push(at..at + extent.bytes);
                wanted += extent.bytes.next_multiple_of(SLOT);
            }
            placed.sort_by_key(|range| range.start);
            assert!(placed.windows(2).all(|pair| pair[0].end <= pair[1].start));
            assert!(placer.end() - start < wanted + wanted / 50, "{} for {wanted}", placer.end());
        }
    }
}
