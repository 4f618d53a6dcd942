//! What a level means for a block of a given size.

use zstd_sys::ZSTD_strategy as Strategy;

/// The library's parameters for a frame (zstd.h, `ZSTD_compressionParameters`), and what it decides from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Search {
    pub(crate) window_log: u32,
    pub(crate) chain_log: u32,
    pub(crate) hash_log: u32,
    pub(crate) search_log: u32,
    pub(crate) min_match: u32,
    pub(crate) target_length: u32,
    pub(crate) strategy: Strategy,
    /// Whether a block is split where its statistics change.
    pub(crate) split: bool,
}

impl Search {
    /// Whether the library finds matches by rows of a hash table. It salts that hash anew for each frame, but only to move
    /// rows about: the same positions share a row whatever the salt, so frames do not depend on earlier ones.
    pub(crate) fn by_rows(&self) -> bool {
        let strategy = matches!(self.strategy, Strategy::ZSTD_greedy | Strategy::ZSTD_lazy | Strategy::ZSTD_lazy2);
        strategy && self.window_log > 14
    }
}

/// Our own parameters for a level and blocks of up to 2^`size_log` bytes. `None` where the library's serve.
pub(crate) fn own(_level: i32, _size_log: u32) -> Option<Search> {
    None
}
