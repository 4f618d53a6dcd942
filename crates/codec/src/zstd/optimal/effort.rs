//! The effort of a level.

use crate::candidates;

/// Levels whose search is our own. Below, libzstd's is faster; above, it is smaller.
const OWN: std::ops::RangeInclusive<i32> = 13..=17;

/// How an encoder searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::zstd) struct Effort {
    pub(super) search: candidates::Effort,
    /// How often the path is found, each time with the prices of the one before.
    pub(super) passes: u32,
    /// Bytes of the smallest blocks that a chunk is split into.
    pub(super) part: usize,
}

impl Effort {
    /// The effort of a level for blocks of up to 2^`size_log` bytes; `None` where libzstd's own search is used.
    pub(in crate::zstd) fn new(level: i32, size_log: u32) -> Option<Effort> {
        if !OWN.contains(&level) || size_log > candidates::LARGEST_LOG {
            return None;
        }
        let (bits, [four, six, twelve], nice, passes, most) = match level {
            ..=13 => (15, [4, 5, 12], 24, 1, 1 << 12),
            14 => (15, [5, 6, 16], 32, 1, 1 << 12),
            15 => (15, [8, 10, 64], 64, 1, 1 << 12),
            16 => (16, [12, 16, 128], 128, 2, 1 << 11),
            _ => (17, [12, 16, 128], 128, 2, 1 << 11),
        };
        let search = candidates::Effort { bits, four, six, twelve, nice };
        Some(Effort { search, passes, part: (1 << size_log >> 4).clamp(1 << 9, most) })
    }
}
