//! The effort of a level.

use crate::search::candidates::{self, Exact, Format, Search};

/// The first level with our own search. Below it libzstd is faster.
const FIRST: i32 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(super) search: Search,
    /// How often the path is found, each time with the prices of the previous path.
    pub(super) passes: u32,
    /// Matches are not offered where an earlier one arrives at the next position for at most this much more
    /// ([`Chunk::covered`](super::path::Chunk::covered)).
    pub(super) covered: Option<u32>,
    /// Size in bytes of the smallest blocks that a chunk is split into.
    pub(super) part: usize,
}

impl Effort {
    /// The effort of a level for blocks of up to 2^`size_log` bytes. `None` where libzstd's own search is used.
    pub(crate) fn new(level: i32, size_log: u32) -> Option<Effort> {
        if level < FIRST || size_log > candidates::LARGEST_LOG {
            return None;
        }
        // Larger tables cost no time, but memory.
        let bits = if level < 15 { 15 } else { 16 };
        let by_hash = |[four, six, twelve]: [u32; 3], covering, nice| {
            Search::ByHash(candidates::Effort { bits, four, six, twelve, covering, nice })
        };
        let exact = |nice| Search::Exact(Exact { format: Format::Zstd, nice });
        let (search, passes, part) = match level {
            ..=12 => (by_hash([5, 6, 16], 16, 32), 1, 1 << 12),
            13 => (by_hash([5, 6, 16], 24, 32), 1, 1 << 12),
            14 => (by_hash([5, 8, 32], 32, 128), 1, 1 << 12),
            15 => (by_hash([5, 12, 64], 32, 256), 1, 1 << 12),
            16 => (exact(64), 1, 1 << 11),
            17 => (exact(256), 1, 1 << 10),
            18 => (exact(128), 2, 1 << 11),
            19 => (exact(256), 2, 1 << 10),
            20 => (exact(1024), 2, 1 << 10),
            21 => (exact(1024), 3, 1 << 10),
            _ => (exact(1024), 3, 1 << 9),
        };
        let covered = match level {
            ..=12 => Some(8),
            13 => Some(4),
            14..=15 => Some(2),
            _ => None,
        };
        Some(Effort { search, passes, covered, part: (1 << size_log >> 4).clamp(1 << 9, part) })
    }
}
