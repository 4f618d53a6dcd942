//! Parameters of libzstd.

use zstd_sys as sys;
use zstd_sys::ZSTD_strategy as Strategy;

/// Smallest size class, binary logarithm: the library's smallest window (zstd.h, `ZSTD_WINDOWLOG_MIN`).
pub(super) const MIN_SIZE_LOG: u32 = 10;

/// The library's parameters for a frame (zstd.h, `ZSTD_compressionParameters`), and its derived decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LibraryParams {
    pub(super) window_log: u32,
    pub(super) chain_log: u32,
    pub(super) hash_log: u32,
    pub(super) search_log: u32,
    pub(super) min_match: u32,
    pub(super) target_length: u32,
    pub(super) strategy: Strategy,
    /// Whether a block is split where its statistics change.
    pub(super) split: bool,
}

impl LibraryParams {
    /// The library's parameters for a level and blocks of up to 2^`size_log` bytes.
    pub(super) fn new(level: i32, size_log: u32) -> LibraryParams {
        // SAFETY: any level and size are accepted; the library clamps those out of range.
        let params = unsafe { sys::ZSTD_getCParams(level, 1 << size_log, 0) };
        LibraryParams {
            window_log: params.windowLog,
            chain_log: params.chainLog,
            hash_log: params.hashLog,
            search_log: params.searchLog,
            min_match: params.minMatch,
            target_length: params.targetLength,
            strategy: params.strategy,
            split: params.strategy as u32 >= Strategy::ZSTD_btopt as u32 && params.windowLog >= 17,
        }
    }

    /// Whether the library finds matches by rows of a hash table. The library uses a new salt for the hash in each frame, but this only permutes
    /// rows. The same positions share a row with any salt, so that frames do not depend on earlier ones.
    pub(super) fn by_rows(&self) -> bool {
        let strategy = matches!(self.strategy, Strategy::ZSTD_greedy | Strategy::ZSTD_lazy | Strategy::ZSTD_lazy2);
        strategy && self.window_log > 14
    }
}

/// The size class of a block: the library chooses the same parameters for all blocks of a class.
pub(super) fn size_log(size: usize) -> u32 {
    size.next_power_of_two().ilog2().max(MIN_SIZE_LOG)
}
