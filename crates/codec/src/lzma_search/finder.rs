//! Finds candidates as an effort says.

use std::ops::Range;

use super::effort::Effort;
use crate::candidates::{self, Found, TreeFinder};

pub(super) enum Finder {
    Rows(candidates::Finder),
    Tree(TreeFinder),
}

impl Finder {
    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(effort: &Effort, size: usize) -> usize {
        match effort {
            Effort::Rows(effort) => candidates::Finder::memory(effort),
            Effort::Tree(_) => TreeFinder::memory(size),
        }
    }

    pub(super) fn begin(&mut self, size: usize) {
        match self {
            Finder::Rows(finder) => finder.begin(size),
            Finder::Tree(finder) => finder.begin(size),
        }
    }

    /// Finds the candidates of a part of the first `size` bytes of the text.
    pub(super) fn find(&mut self, text: &[u8], size: usize, part: Range<usize>, found: &mut Found) {
        match self {
            Finder::Rows(finder) => finder.find(&text[..size], part, found),
            Finder::Tree(finder) => finder.find(text, part, found),
        }
    }
}
