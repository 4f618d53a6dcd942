//! Fragment blocks that are kept for files to come, chosen by the order of the files alone.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::slot::Slot;
use super::uses::{Distance, FragmentUses, NextUses};

/// Keeps the blocks that are needed soonest (Belady's rule). All of it is decided when a use is planned, so it does not depend
/// on when a block is decoded.
pub(super) struct Kept {
    /// Blocks kept, at most; at least one.
    limit: usize,
    uses: NextUses,
    blocks: BTreeMap<u32, (Distance, Rc<Slot>)>,
    /// The same blocks by when they are needed.
    order: BTreeSet<(Distance, u32)>,
}

/// What the use of a fragment block asks for.
pub(super) struct Use {
    /// The block.
    pub(super) slot: Rc<Slot>,
    /// It is not there: it has to be decoded.
    pub(super) missing: bool,
    /// A block that is not kept any longer; it may be this one.
    pub(super) dropped: Option<Rc<Slot>>,
}

impl Kept {
    pub(super) fn new(limit: usize, uses: FragmentUses) -> Kept {
        Kept { limit: limit.max(1), uses: uses.into_next(), blocks: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// The next use, in the order of the files.
    pub(super) fn take(&mut self, fragment: u32) -> Use {
        let found = self.blocks.remove(&fragment);
        if let Some((distance, _)) = &found {
            self.order.remove(&(*distance, fragment));
        }
        let missing = found.is_none();
        let slot = found.map_or_else(|| Rc::new(Slot::default()), |(_, slot)| slot);
        let dropped = match self.uses.advance() {
            Some(distance) => self.keep(fragment, distance, &slot),
            None => Some(Rc::clone(&slot)),
        };
        Use { slot, missing, dropped }
    }

    fn keep(&mut self, fragment: u32, distance: Distance, slot: &Rc<Slot>) -> Option<Rc<Slot>> {
        self.blocks.insert(fragment, (distance, Rc::clone(slot)));
        self.order.insert((distance, fragment));
        slot.set_kept(true);
        if self.blocks.len() <= self.limit {
            return None;
        }
        let (_, farthest) = self.order.pop_last()?;
        self.blocks.remove(&farthest).map(|(_, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TailPlace;
    use crate::read::FileData;
    use crate::read::metadata::MetaPlace;
    use proptest::prelude::*;

    fn uses(order: &[u32]) -> FragmentUses {
        let mut uses = FragmentUses::new();
        for &fragment in order {
            let tail = Some(TailPlace { fragment, offset: 0 });
            let words = MetaPlace { block: 0, offset: 0 };
            uses.note(Some(&FileData { size: 1, sparse: 0, start: 0, blocks: 0, tail, words }));
            uses.note(None);
        }
        uses
    }

    fn decoded(limit: usize, uses: FragmentUses, order: &[u32]) -> usize {
        let mut kept = Kept::new(limit, uses);
        order.iter().filter(|&&fragment| kept.take(fragment).missing).count()
    }

    #[test]
    fn the_block_needed_last_goes() {
        let order = [1, 2, 3, 1, 2, 3, 1];
        assert_eq!(decoded(3, uses(&order), &order), 3);
        // 3 has to go for 1 and 2, and comes back once.
        assert_eq!(decoded(2, uses(&order), &order), 4);
        // The least recently used one would always be the wrong one.
        assert_eq!(decoded(2, FragmentUses::new(), &order), 7);
    }

    #[test]
    fn a_block_goes_with_its_last_use() {
        let order = [1, 1, 2, 2];
        let mut kept = Kept::new(9, uses(&order));
        assert!(kept.take(1).dropped.is_none());
        let last = kept.take(1);
        assert!(Rc::ptr_eq(&last.dropped.unwrap(), &last.slot) && kept.blocks.is_empty());
    }

    #[test]
    fn other_files_than_noted_do_no_harm() {
        let order = [5, 6, 5, 6, 6, 6];
        assert!((2..=6).contains(&decoded(4, uses(&[1, 2, 1]), &order)));
    }

    /// The least number of decodings there can be, by trying everything.
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
