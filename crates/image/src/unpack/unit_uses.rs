//! Use counts of shared units that several windows need, and the positions of spilled units.
//!
//! A tree that fits into one window needs no counts. If a window is full before the tree ends, the rest of the tree is walked once in advance to
//! count the pieces of each shared unit. A unit is then decoded for the first window that needs it. If later files need it, too, it is spilled
//! ([`Scratch`]), and those files read only their own bytes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use packline_volume::{Node, Scratch, SharedVolume, SpilledBlock, Visit};

/// Memory of a counted unit in bytes, rounded up: map entry, store and position.
const UNIT_BYTES: usize = 160;

/// Position of a spilled unit; empty before spilling, and if spilling failed.
pub type Store = OnceLock<SpilledBlock>;

/// Remaining uses of shared units.
#[derive(Debug)]
pub struct UnitUseCounts {
    volume: SharedVolume,
    scratch: Arc<Scratch>,
    /// Maximum number of counted units; others are decoded again.
    most: usize,
    /// `None` before the rest of the tree has been walked.
    units: Option<BTreeMap<u32, Needed>>,
}

#[derive(Debug, Default)]
struct Needed {
    /// Number of remaining pieces of files.
    pieces: u32,
    store: Option<Arc<Store>>,
}

/// The place to which a unit that several windows need is spilled.
#[derive(Debug, Clone)]
pub struct Spilled {
    /// The position, now or after spilling.
    pub store: Arc<Store>,
    /// The file to spill it to; `None` if no later file needs it.
    pub scratch: Option<Arc<Scratch>>,
}

impl UnitUseCounts {
    /// Nothing is counted yet. The counts take at most `memory` bytes.
    pub fn new(scratch: Arc<Scratch>, volume: &SharedVolume, memory: usize) -> UnitUseCounts {
        let all = usize::try_from(volume.facts().shared_units).unwrap_or(usize::MAX);
        let most = (memory / UNIT_BYTES).min(all);
        UnitUseCounts { volume: SharedVolume::clone(volume), scratch, most, units: None }
    }

    /// Returns an upper bound in bytes of the memory.
    pub fn memory(&self) -> usize {
        self.most * UNIT_BYTES
    }

    /// Counts the remaining files, once.
    pub fn count(&mut self, rest: impl Iterator<Item = Visit>) {
        if self.units.is_some() {
            return;
        }
        let mut units = BTreeMap::<u32, Needed>::new();
        for visit in rest {
            each_unit(&self.volume, &visit, &mut |unit| {
                if units.len() < self.most || units.contains_key(&unit) {
                    let needed = units.entry(unit).or_default();
                    needed.pieces = needed.pieces.saturating_add(1);
                }
            });
        }
        self.units = Some(units);
    }

    /// Records that the walk came to a counted file.
    pub fn meet(&mut self, visit: &Visit) {
        let Some(units) = &mut self.units else { return };
        each_unit(&self.volume, visit, &mut |unit| {
            if let Some(needed) = units.get_mut(&unit) {
                needed.pieces = needed.pieces.saturating_sub(1);
            }
        });
    }

    /// Records that a window needs this unit.
    pub fn share(&mut self, unit: u32) -> Option<Spilled> {
        let units = self.units.as_mut()?;
        let needed = units.get_mut(&unit)?;
        if needed.pieces == 0 {
            let store = units.remove(&unit)?.store?;
            return Some(Spilled { store, scratch: None });
        }
        let store = Arc::clone(needed.store.get_or_insert_default());
        Some(Spilled { store, scratch: Some(Arc::clone(&self.scratch)) })
    }
}

/// Calls `note` with the unit of each shared piece of a file.
fn each_unit(volume: &SharedVolume, visit: &Visit, note: &mut dyn FnMut(u32)) {
    if let Node::File(file) = &visit.inode.node {
        volume.shared_keys(file, note);
    }
}
