//! A bounded cache of decoded units and of pages of the image, shared by all threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use packline_volume::{Unit, spread};

/// Approximate memory of a unit in addition to its bytes.
const OVERHEAD: usize = 160;
/// Content bytes of a cluster above which decoding it again for each of its items is slow.
const LARGE: u32 = 1 << 20;
/// Maximum number of content bytes of large clusters that are decoded for metadata: minutes. With clusters of 12 MiB that alternate, an image of a
/// few megabytes could otherwise take hours.
const LARGE_MOST: u64 = 256 << 30;

/// Caches content by its unit. A full cache evicts the first unit that was not used since it was considered last (the clock algorithm).
#[derive(Debug)]
pub(super) struct Cache {
    capacity: usize,
    state: Mutex<State>,
    /// Content bytes of large clusters that were decoded.
    decoded: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    slots: HashTable<Slot>,
    /// The units of all slots, in the order in which they are considered for eviction.
    order: VecDeque<Unit>,
}

#[derive(Debug)]
struct Slot {
    unit: Unit,
    bytes: Arc<Vec<u8>>,
    asked: bool,
}

impl Cache {
    /// Caches up to `capacity` bytes, and at least one unit.
    pub(super) fn new(capacity: usize) -> Cache {
        Cache { capacity, state: Mutex::default(), decoded: AtomicU64::new(0) }
    }

    /// Whether a cluster of `length` bytes of content may be decoded; counts it.
    pub(super) fn may_decode(&self, length: u32) -> bool {
        length <= LARGE || self.decoded.fetch_add(length.into(), Ordering::Relaxed) <= LARGE_MOST
    }

    pub(super) fn get(&self, unit: Unit) -> Option<Arc<Vec<u8>>> {
        let mut state = self.lock();
        let slot = state.slots.find_mut(hash(unit), |slot| slot.unit == unit)?;
        slot.asked = true;
        Some(Arc::clone(&slot.bytes))
    }

    pub(super) fn put(&self, unit: Unit, bytes: &Arc<Vec<u8>>) {
        let mut state = self.lock();
        let cost = bytes.capacity() + OVERHEAD;
        state.evict(self.capacity.saturating_sub(cost));
        let State { used, slots, order } = &mut *state;
        if let Entry::Vacant(free) = slots.entry(hash(unit), |slot| slot.unit == unit, |slot| hash(slot.unit)) {
            free.insert(Slot { unit, bytes: Arc::clone(bytes), asked: false });
            order.push_back(unit);
            *used += cost;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Evicts units until at most `most` bytes are cached.
    fn evict(&mut self, most: usize) {
        while self.used > most {
            let Some(unit) = self.order.pop_front() else { return };
            let Ok(mut slot) = self.slots.find_entry(hash(unit), |slot| slot.unit == unit) else { continue };
            if std::mem::take(&mut slot.get_mut().asked) {
                self.order.push_back(unit);
            } else {
                let (slot, _) = slot.remove();
                self.used -= slot.bytes.capacity() + OVERHEAD;
            }
        }
    }
}

fn hash(unit: Unit) -> u64 {
    spread(unit.offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_volume::PLAIN;

    fn unit(offset: u64) -> Unit {
        Unit { offset, stored: 1, length: 1, form: PLAIN }
    }

    #[test]
    fn keeps_used_units_within_its_bytes() {
        let cache = Cache::new(4 * (1000 + OVERHEAD));
        let bytes = Arc::new(vec![0; 1000]);
        for offset in 0..100 {
            cache.put(unit(offset), &bytes);
            assert!(cache.get(unit(0)).is_some(), "{offset}");
        }
        assert!(cache.lock().used <= cache.capacity);
        assert_eq!(cache.lock().slots.len(), 4);
        assert!(cache.get(unit(1)).is_none());
    }

    #[test]
    fn bounds_the_work_of_decoding_large_clusters() {
        let cache = Cache::new(0);
        let times = LARGE_MOST / (12 << 20) + 1;
        assert!((0..times).all(|_| cache.may_decode(12 << 20)));
        assert!(cache.may_decode(LARGE));
        assert!(!(0..2).all(|_| cache.may_decode(12 << 20)));
    }

    #[test]
    fn keeps_one_unit_that_is_larger_than_the_cache() {
        let cache = Cache::new(10);
        let bytes = Arc::new(vec![0; 1000]);
        cache.put(unit(1), &bytes);
        assert!(cache.get(unit(1)).is_some());
        cache.put(unit(2), &bytes);
        assert!(cache.get(unit(2)).is_some() && cache.get(unit(1)).is_none());
    }
}
