//! The two ways to find candidates.

use std::ops::Range;

use super::{CandidateList, Effort, Exact, ExactFinder, Finder};
use crate::CodecError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// By [`Finder`]: fast; finds most of the candidates.
    ByHash(Effort),
    /// By [`ExactFinder`]: finds all candidates that matter.
    Exact(Exact),
}

pub(crate) enum Searcher {
    ByHash(Finder),
    Exact(Box<ExactFinder>),
}

impl Search {
    /// A match of at least this length in bytes is used without comparing others.
    pub(crate) fn nice(&self) -> usize {
        match *self {
            Search::ByHash(Effort { nice, .. }) | Search::Exact(Exact { nice, .. }) => nice,
        }
    }
}

impl Searcher {
    /// Finds matches at most `farthest` bytes back.
    pub(crate) fn new(search: Search, farthest: usize) -> Searcher {
        match search {
            Search::ByHash(effort) => Searcher::ByHash(Finder::new(effort, farthest)),
            Search::Exact(exact) => Searcher::Exact(Box::new(ExactFinder::new(exact, farthest))),
        }
    }

    /// Memory for blocks of up to `size` bytes.
    pub(crate) fn memory(search: &Search, size: usize) -> usize {
        match search {
            Search::ByHash(effort) => Finder::memory(effort),
            Search::Exact(_) => ExactFinder::memory(size),
        }
    }

    /// Starts a block of at most 2^[`LARGEST_LOG`](super::LARGEST_LOG) bytes.
    pub(crate) fn begin(&mut self, src: &[u8]) -> Result<(), CodecError> {
        match self {
            Searcher::ByHash(finder) => finder.begin(src.len()),
            Searcher::Exact(finder) => finder.begin(src)?,
        }
        Ok(())
    }

    /// Finds the candidates of a part of the block. The caller passes parts in order, from the start of the block.
    pub(crate) fn find(&mut self, src: &[u8], part: Range<usize>, found: &mut CandidateList) {
        match self {
            Searcher::ByHash(finder) => finder.find(src, part, found),
            Searcher::Exact(finder) => finder.find(src, part, found),
        }
    }
}
