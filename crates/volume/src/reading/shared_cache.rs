//! Caches shared units for later files. Its decisions depend on the order of the files alone.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::slot::{Slot, Stage};
use super::uses::{Distance, NextUses, SharedUses};
use crate::{Scratch, Unit};

/// Bytes of memory of a spilled block, rounded up.
const SPILLED_BYTES: usize = 160;
/// Minimum limit of the bytes of spilled blocks.
const MIN_SPILLED_BYTES: usize = 64 << 10;

/// Keeps the blocks that are needed soonest (Belady's rule), and spills evicted blocks that are needed again. The decision is taken when a use is
/// planned, so it does not depend on the time of decoding.
pub(super) struct SharedCache {
    /// Maximum bytes of cached blocks and of the records of spilled blocks; at least one block is cached.
    limit: usize,
    /// Memory in bytes of a unit of the usual size, and of units that the image does not have.
    usual: usize,
    /// Memory in bytes of the cached blocks.
    used: usize,
    uses: NextUses,
    blocks: BTreeMap<u32, (Distance, Rc<Slot>)>,
    /// The same blocks by their next use.
    order: BTreeSet<(Distance, u32)>,
    /// Spilled blocks that are needed again.
    spilled: BTreeMap<u32, Rc<Slot>>,
    scratch: Arc<Scratch>,
}

/// Result of planning a use of a shared unit.
pub(super) struct PlannedUse {
    pub(super) slot: Rc<Slot>,
    /// Whether the unit has to be decoded.
    pub(super) missing: bool,
    /// Evicted blocks, possibly including the unit itself.
    pub(super) dropped: Vec<Evicted>,
}

/// An evicted block.
pub(super) struct Evicted {
    pub(super) slot: Rc<Slot>,
    /// Whether the block is needed again, and spilled.
    pub(super) spilled: bool,
}

impl SharedCache {
    /// `limit`: bytes of blocks to keep; `usual`: memory of most units.
    pub(super) fn new(limit: usize, usual: usize, uses: SharedUses, scratch: Arc<Scratch>) -> SharedCache {
        let blocks = BTreeMap::new();
        let order = BTreeSet::new();
        let spilled = BTreeMap::new();
        SharedCache { limit, usual, used: 0, uses: uses.into_next(), blocks, order, spilled, scratch }
    }

    /// Returns the unit with this key, if its block is cached or spilled.
    pub(super) fn unit(&self, key: u32) -> Option<Unit> {
        let slot = self.blocks.get(&key).map(|(_, slot)| slot).or_else(|| self.spilled.get(&key))?;
        slot.unit()
    }

    /// Plans the next use, in the order of the files. `unit`: the unit, if the image has it.
    pub(super) fn take(&mut self, key: u32, unit: Option<Unit>) -> PlannedUse {
        let next = self.uses.advance();
        if let Some(slot) = self.take_spilled(key, next) {
            return PlannedUse { slot, missing: false, dropped: Vec::new() };
        }
        let found = self.blocks.remove(&key);
        if let Some((distance, slot)) = &found {
            self.order.remove(&(*distance, key));
            self.used -= self.memory(slot);
        }
        let missing = found.is_none();
        let slot = found.map_or_else(|| Rc::new(Slot::of_shared(unit)), |(_, slot)| slot);
        let dropped = match next {
            Some(distance) => self.keep(key, distance, &slot),
            None => vec![Evicted { slot: Rc::clone(&slot), spilled: false }],
        };
        PlannedUse { slot, missing, dropped }
    }

    /// Returns the block, if it was spilled and can be read back.
    fn take_spilled(&mut self, key: u32, next: Option<Distance>) -> Option<Rc<Slot>> {
        let slot = Rc::clone(self.spilled.get(&key)?);
        let lost = slot.stage() == Stage::Lost;
        if lost || next.is_none() {
            self.spilled.remove(&key);
        }
        (!lost).then_some(slot)
    }

    fn keep(&mut self, key: u32, distance: Distance, slot: &Rc<Slot>) -> Vec<Evicted> {
        self.blocks.insert(key, (distance, Rc::clone(slot)));
        self.order.insert((distance, key));
        self.used += self.memory(slot);
        slot.set_kept(true);
        let mut dropped = Vec::new();
        while self.blocks.len() > 1 && self.used > self.space() {
            dropped.extend(self.drop_farthest());
        }
        dropped
    }

    /// Returns the maximum number of bytes of cached blocks.
    fn space(&self) -> usize {
        self.limit.saturating_sub(self.spilled.len() * SPILLED_BYTES)
    }

    /// Returns the memory of a block in bytes, at least as much as its buffer has.
    fn memory(&self, slot: &Slot) -> usize {
        let length = slot.unit().map_or(self.usual, |unit| unit.length as usize);
        if length > self.usual / 2 { length.max(self.usual) } else { length }
    }

    fn drop_farthest(&mut self) -> Option<Evicted> {
        let (_, farthest) = self.order.pop_last()?;
        let (distance, slot) = self.blocks.remove(&farthest)?;
        self.used -= self.memory(&slot);
        let spilled = self.is_spilled(distance, &slot);
        if spilled {
            self.spilled.insert(farthest, Rc::clone(&slot));
        }
        Some(Evicted { slot, spilled })
    }

    /// Whether an evicted block is spilled: only if it is known to be needed again.
    fn is_spilled(&self, distance: Distance, slot: &Slot) -> bool {
        let most = (self.limit / 2).max(MIN_SPILLED_BYTES);
        let fits = (self.spilled.len() + 1) * SPILLED_BYTES <= most;
        fits && distance.is_known() && (slot.is_plain() || self.scratch.has_space())
    }

    /// Removes a block that is no longer spilled.
    pub(super) fn forget(&mut self, key: u32, slot: &Rc<Slot>) {
        if self.spilled.get(&key).is_some_and(|spilled| Rc::ptr_eq(spilled, slot)) {
            self.spilled.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn uses(order: &[u32]) -> SharedUses {
        let mut uses = SharedUses::new();
        order.iter().for_each(|unit| uses.note_unit(*unit));
        uses
    }

    /// Keeps `limit` blocks, without a spill file.
    fn keeping(limit: usize, uses: SharedUses) -> SharedCache {
        SharedCache::new(limit * 1000, 1000, uses, Scratch::sized(None, 1000, 1 << 20))
    }

    fn decoded(limit: usize, uses: SharedUses, order: &[u32]) -> usize {
        let mut cache = keeping(limit, uses);
        order.iter().filter(|&&key| cache.take(key, None).missing).count()
    }

    /// Counts decodings of a cache with a spill file.
    fn decoded_with_scratch(limit: usize, uses: SharedUses, order: &[u32]) -> usize {
        let scratch = Scratch::sized(Some("/nowhere".into()), 1000, 1 << 20);
        let mut cache = SharedCache::new(limit * 1000, 1000, uses, scratch);
        order.iter().filter(|&&key| cache.take(key, None).missing).count()
    }

    #[test]
    fn the_block_needed_last_goes() {
        let order = [1, 2, 3, 1, 2, 3, 1];
        assert_eq!(decoded(3, uses(&order), &order), 3);
        // 3 is evicted for 1 and 2, and decoded again once.
        assert_eq!(decoded(2, uses(&order), &order), 4);
        // Evicting the least recently used one would always be wrong.
        assert_eq!(decoded(2, SharedUses::new(), &order), 7);
    }

    #[test]
    fn a_block_goes_with_its_last_use() {
        let order = [1, 1, 2, 2];
        let mut cache = keeping(9, uses(&order));
        assert!(cache.take(1, None).dropped.is_empty());
        let last = cache.take(1, None);
        assert!(Rc::ptr_eq(&last.dropped[0].slot, &last.slot) && !last.dropped[0].spilled && cache.blocks.is_empty());
    }

    #[test]
    fn only_blocks_known_to_be_needed_are_spilled() {
        let order = [1, 2, 3, 1, 2, 3];
        assert_eq!(decoded_with_scratch(1, uses(&order), &order), 3);
        // It is unknown whether an evicted block is needed again.
        assert_eq!(decoded_with_scratch(1, SharedUses::new(), &order), 6);
        // Records of spilled blocks take memory from the cached blocks, at most half.
        let order: Vec<u32> = (0..2000).chain(0..2000).collect();
        let most = MIN_SPILLED_BYTES / SPILLED_BYTES;
        assert_eq!(decoded_with_scratch(1, uses(&order), &order), 4000 - most - 1);
    }

    #[test]
    fn a_spilled_block_is_forgotten_with_its_last_use() {
        let order = [1, 2, 1, 2];
        let scratch = Scratch::sized(Some("/nowhere".into()), 1000, 1 << 20);
        let mut cache = SharedCache::new(1000, 1000, uses(&order), scratch);
        assert!(cache.take(1, None).missing);
        let second = cache.take(2, None);
        assert!(second.missing && second.dropped[0].spilled && Rc::ptr_eq(&second.dropped[0].slot, &second.slot));
        assert!(!cache.take(1, None).missing);
        let last = cache.take(2, None);
        assert!(!last.missing && last.dropped.is_empty() && Rc::ptr_eq(&last.slot, &second.slot));
        assert!(cache.spilled.is_empty() && cache.blocks.is_empty());
    }

    #[test]
    fn other_files_than_noted_do_no_harm() {
        let order = [5, 6, 5, 6, 6, 6];
        assert!((2..=6).contains(&decoded(4, uses(&[1, 2, 1]), &order)));
    }

    /// Returns the minimum number of decodings, found by trying everything.
    fn least(order: &[u32], limit: usize, held: &BTreeSet<u32>) -> usize {
        let Some((first, rest)) = order.split_first() else { return 0 };
        let cost = usize::from(!held.contains(first));
        let mut all = held.clone();
        all.insert(*first);
        let choices = all.iter().map(|gone| {
            let mut left = all.clone();
            if left.len() > limit {
                left.remove(gone);
            }
            least(rest, limit, &left)
        });
        cost + choices.min().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn no_order_of_keeping_decodes_less(order in prop::collection::vec(0u32..4, 0..8), limit in 1usize..4) {
            prop_assert_eq!(decoded(limit, uses(&order), &order), least(&order, limit, &BTreeSet::new()));
        }
    }
}
