//! Parameters of a level for a block size.

use zstd_sys::ZSTD_strategy as Strategy;

/// The library's parameters for a frame (zstd.h, `ZSTD_compressionParameters`), and its derived decisions.
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
    /// Whether the library finds matches by rows of a hash table. It salts that hash anew for each frame, but this only permutes rows: the
    /// same positions share a row with any salt, so frames do not depend on earlier ones.
    pub(crate) fn by_rows(&self) -> bool {
        let strategy = matches!(self.strategy, Strategy::ZSTD_greedy | Strategy::ZSTD_lazy | Strategy::ZSTD_lazy2);
        strategy && self.window_log > 14
    }
}

/// Our own parameters for a level and blocks of up to 2^`size_log` bytes. `None` where the library's are used.
///
/// Level 15 is the default of block containers. The library's parameters distinguish only four input sizes, none of them below 16 KiB,
/// and assume caches that hold its tables. These were searched on blocks of a Debian root, for less work at a size that is on average no
/// larger (at 4 KiB a thousandth larger, where the library leaves little to gain). The saving comes from smaller tables and fewer
/// candidates, paid for by better pricing (btultra) or by splitting blocks, which the library does only from 128 KiB on.
pub(crate) fn own(level: i32, size_log: u32) -> Option<Search> {
    if level != 15 {
        return None;
    }
    let (strategy, hash_log, chain_log, search_log, min_match, target_length, split) = match size_log {
        0..=12 => (Strategy::ZSTD_btultra, 12, 13, 4, 3, 32, false),
        13 => (Strategy::ZSTD_btultra, 13, 13, 4, 3, 32, true),
        14 => (Strategy::ZSTD_btultra, 14, 14, 4, 3, 32, true),
        15 => (Strategy::ZSTD_btopt, 15, 15, 3, 3, 24, true),
        16 => (Strategy::ZSTD_btopt, 15, 16, 3, 3, 48, true),
        17 => (Strategy::ZSTD_btultra, 16, 17, 3, 3, 28, true),
        18 => (Strategy::ZSTD_btultra, 17, 17, 4, 3, 32, true),
        19 => (Strategy::ZSTD_btlazy2, 18, 19, 6, 4, 32, false),
        20 => (Strategy::ZSTD_btlazy2, 18, 19, 5, 4, 32, false),
        _ => return None,
    };
    let window_log = size_log;
    Some(Search { window_log, chain_log, hash_log, search_log, min_match, target_length, strategy, split })
}

#[cfg(test)]
mod tests {
    use super::own;

    #[test]
    fn no_window_is_larger_than_its_blocks() {
        for size_log in 10..=30 {
            let search = own(15, size_log);
            assert!(search.is_none_or(|search| search.window_log <= size_log));
            assert_eq!(search.is_some(), size_log <= 20);
            assert!(own(14, size_log).is_none());
        }
    }
}
