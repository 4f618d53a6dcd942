//! When each fragment block is needed next: noted in a first pass over the files.

use std::collections::BTreeMap;

use crate::read::FileData;

/// Uses that are noted, at most: 64 MB of them.
const NOTED_MOST: usize = 16 << 20;
/// No further use.
const NONE: u32 = u32::MAX;

/// When each fragment block will be needed: made in a first pass over the same files in the same order, so that blocks are kept
/// exactly as long as they are needed and none is decoded twice while memory suffices. Takes 4 bytes for each file with a tail
/// end, and notes the first 16 million. If the files that are read turn out to be others, nothing is wrong but the time it takes.
#[derive(Debug, Default)]
pub struct FragmentUses {
    /// The fragment block of each use, in order.
    blocks: Vec<u32>,
}

impl FragmentUses {
    /// No uses yet. If it stays so, blocks that were used lately are kept.
    pub fn new() -> FragmentUses {
        FragmentUses::default()
    }

    /// Notes the next file of the order; what has no tail end leaves nothing to note.
    pub fn note(&mut self, file: Option<&FileData>) {
        if let Some(tail) = file.and_then(|file| file.tail)
            && self.blocks.len() < NOTED_MOST
        {
            self.blocks.push(tail.fragment);
        }
    }

    /// For each use the number of the next one of the same block.
    pub(super) fn into_next(mut self) -> NextUses {
        let mut last = BTreeMap::new();
        for number in (0..self.blocks.len()).rev() {
            let next = last.insert(self.blocks[number], number as u32);
            self.blocks[number] = next.unwrap_or(NONE);
        }
        NextUses { next: self.blocks, used: 0 }
    }
}

/// How far away the next use of a block is; the block with the greatest distance is the first to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Distance(u64);

impl Distance {
    /// Whether it is known that there is a next use.
    pub(super) fn is_known(self) -> bool {
        self.0 < u64::from(NONE)
    }
}

/// The uses from the present one on.
#[derive(Debug)]
pub(super) struct NextUses {
    next: Vec<u32>,
    /// Uses so far.
    used: u64,
}

impl NextUses {
    /// Goes on to the next use, and says how far away the use after it of the same block is; `None` if there is none.
    pub(super) fn advance(&mut self) -> Option<Distance> {
        let number = self.used;
        self.used += 1;
        match self.next.get(number as usize) {
            Some(&NONE) => None,
            Some(&next) => Some(Distance(u64::from(next))),
            // Unknown: further than all that is known, and the further the longer ago it was used.
            None => Some(Distance(u64::MAX - number)),
        }
    }
}
