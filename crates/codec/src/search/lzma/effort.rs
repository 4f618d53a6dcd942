//! The effort of a level.

use super::model::LONGEST;
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
