//! The effort of a level.

use super::model::LONGEST;
use super::prices::BIT;
use crate::search::candidates::{self, Exact, Format, Search};

/// Returns the search of a level, 0 to 9. `None` where the library's search is used: below level 4 its greedy search is as fast as ours
/// could be.
pub(crate) fn search_of(level: u32, extreme: bool) -> Option<Search> {
    let exact = |nice| Some(Search::Exact(Exact { format: Format::Lzma { longest: LONGEST }, nice }));
    match level {
        _ if extreme => exact(LONGEST),
        0..=3 => None,
        4 => Some(Search::ByHash(candidates::Effort {
            bits: 16,
            four: 12,
            six: 16,
            twelve: 128,
            covering: 64,
            nice: 64,
        })),
        5 => exact(48),
        6 => exact(96),
        7 => exact(128),
        8 => exact(192),
        _ => exact(LONGEST),
    }
}

/// Returns the most that a next position may cost more than one that is skipped: less than a bit. `None` where a small result is worth more
/// than time.
pub(super) fn skipped(search: &Search) -> Option<u32> {
    matches!(search, Search::Exact(exact) if exact.nice <= 128).then_some(BIT * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_positions_only_at_levels_that_trade_size_for_time() {
        let skips = |level, extreme| search_of(level, extreme).map(|search| skipped(&search).is_some());
        assert_eq!([5, 6, 7].map(|level| skips(level, false)), [Some(true); 3]);
        assert_eq!([4, 8, 9].map(|level| skips(level, false)), [Some(false); 3]);
        assert_eq!(skips(6, true), Some(false));
    }
}
