//! The effort of a level.

use super::finder::Finder;
use super::model::LONGEST;
use crate::candidates::{self, TreeEffort, TreeFinder};

/// How an encoder searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// By rows of the latest positions.
    Rows(candidates::Effort),
    /// By trees.
    Tree(TreeEffort),
}

impl Effort {
    /// The effort of a level, 0 to 9; `None` where the library's search is used: below level 4 its greedy one is as fast as ours could be.
    pub(crate) fn new(level: u32, extreme: bool) -> Option<Effort> {
        let tree = |nice, depth, deep| {
            Some(Effort::Tree(TreeEffort { nice, depth, deep, longest: LONGEST, farthest: u32::MAX }))
        };
        if extreme {
            return tree(LONGEST, 1000, 1000);
        }
        match level {
            0..=3 => None,
            4 => Some(Effort::Rows(candidates::Effort { bits: 16, four: 12, six: 16, twelve: 128, nice: 64 })),
            5 => tree(48, 8, 14),
            6 => tree(64, 13, 24),
            7 => tree(80, 24, 32),
            8 => tree(128, 64, 64),
            _ => tree(192, 256, 256),
        }
    }

    /// The finder of an encoder with a dictionary of this size, bytes.
    pub(super) fn finder(self, dictionary: u32) -> Finder {
        match self {
            Effort::Rows(effort) => Finder::Rows(candidates::Finder::new(effort).within(dictionary as usize)),
            Effort::Tree(effort) => Finder::Tree(TreeFinder::new(TreeEffort { farthest: dictionary, ..effort })),
        }
    }

    /// A match at least this long is taken as it is, bytes.
    pub(super) fn nice(self) -> usize {
        match self {
            Effort::Rows(rows) => rows.nice,
            Effort::Tree(tree) => tree.nice,
        }
    }
}
