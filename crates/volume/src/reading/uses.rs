//! The next use of each shared unit, recorded in a first pass over the files.

use std::collections::BTreeMap;

use crate::{FileData, Volume};

/// Maximum number of recorded uses: 64 MB.
const NOTED_MOST: usize = 16 << 20;
/// No further use.
const NONE: u32 = u32::MAX;

/// The uses of shared units, recorded in a first pass over the same files in the same order. Units are then cached exactly as long as needed, and
/// none is decoded twice while memory suffices. Takes 4 bytes for each piece of a shared unit, and records the first 16 million. Reading
/// other files than recorded only costs time.
#[derive(Debug, Default)]
pub struct SharedUses {
    /// The unit of each use, in order.
    units: Vec<u32>,
}

impl SharedUses {
    /// Records nothing yet. Without recorded uses, recently used units are cached.
    pub fn new() -> SharedUses {
        SharedUses::default()
    }

    /// Records the next file of the order, if it has pieces of shared units.
    pub fn note(&mut self, volume: &dyn Volume, file: &FileData) {
        volume.shared_keys(file, &mut |key| self.note_unit(key));
    }

    /// Records the next use of a unit.
    pub(super) fn note_unit(&mut self, key: u32) {
        if self.units.len() < NOTED_MOST {
            self.units.push(key);
        }
    }

    /// Finds for each use the index of the next use of the same unit.
    pub(super) fn into_next(mut self) -> NextUses {
        let mut last = BTreeMap::new();
        for number in (0..self.units.len()).rev() {
            let next = last.insert(self.units[number], number as u32);
            self.units[number] = next.unwrap_or(NONE);
        }
        NextUses { next: self.units, used: 0 }
    }
}

/// Distance to the next use of a unit; the unit with the greatest distance is evicted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Distance(u64);

impl Distance {
    /// Whether the next use is known.
    pub(super) fn is_known(self) -> bool {
        self.0 < u64::from(NONE)
    }
}

/// The uses from the current one on.
#[derive(Debug)]
pub(super) struct NextUses {
    next: Vec<u32>,
    /// Uses so far.
    used: u64,
}

impl NextUses {
    /// Advances to the next use, and returns the distance to the following use of the same unit; `None` if there is none.
    pub(super) fn advance(&mut self) -> Option<Distance> {
        let number = self.used;
        self.used += 1;
        match self.next.get(number as usize) {
            Some(&NONE) => None,
            Some(&next) => Some(Distance(u64::from(next))),
            // Unknown: farther than all known uses, and farther for a unit that was used longer ago.
            None => Some(Distance(u64::MAX - number)),
        }
    }
}
