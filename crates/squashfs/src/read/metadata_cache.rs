//! A bounded cache of decompressed metadata blocks, shared by all threads.

use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashTable;
use packline_codec::METADATA_BLOCK_SIZE;
use packline_volume::spread;

use super::metadata::MetaBlock;

/// Approximate memory of a block in addition to its bytes.
const OVERHEAD: usize = 128;
/// Maximum number of shards, each with its own lock.
const MOST_SHARDS: usize = 16;
/// Minimum number of blocks per shard.
const BLOCKS_A_SHARD: usize = 8;

/// Caches blocks by the offset of their header. A full shard evicts the first block that was not used since the last pass of the clock (the clock
/// algorithm).
pub(super) struct Cache {
    shards: Vec<Mutex<Shard>>,
}

struct Shard {
    capacity: usize,
    slots: Vec<Slot>,
    /// Indices in `slots`, by offset.
    places: HashTable<usize>,
    candidate: usize,
}

struct Slot {
    offset: u64,
    block: Arc<MetaBlock>,
    asked: bool,
}

impl Cache {
    /// Caches up to `bytes` of blocks, and at least one.
    pub(super) fn new(bytes: usize) -> Cache {
        let blocks = (bytes / (METADATA_BLOCK_SIZE + OVERHEAD)).max(1);
        let shards = (blocks / BLOCKS_A_SHARD).clamp(1, MOST_SHARDS);
        let shard = || Mutex::new(Shard::new(blocks / shards));
        Cache { shards: std::iter::repeat_with(shard).take(shards).collect() }
    }

    pub(super) fn get(&self, offset: u64) -> Option<Arc<MetaBlock>> {
        self.shard(offset).lock().unwrap_or_else(PoisonError::into_inner).get(offset)
    }

    pub(super) fn put(&self, offset: u64, block: &Arc<MetaBlock>) {
        self.shard(offset).lock().unwrap_or_else(PoisonError::into_inner).put(offset, block);
    }

    fn shard(&self, offset: u64) -> &Mutex<Shard> {
        &self.shards[(spread(offset) >> 32) as usize % self.shards.len()]
    }
}

impl Shard {
    fn new(capacity: usize) -> Shard {
        Shard { capacity, slots: Vec::new(), places: HashTable::new(), candidate: 0 }
    }

    fn get(&mut self, offset: u64) -> Option<Arc<MetaBlock>> {
        let Shard { slots, places, .. } = self;
        let place = *places.find(spread(offset), |place| slots[*place].offset == offset)?;
        slots[place].asked = true;
        Some(Arc::clone(&slots[place].block))
    }

    fn put(&mut self, offset: u64, block: &Arc<MetaBlock>) {
        if self.get(offset).is_some() {
            return;
        }
        let slot = Slot { offset, block: Arc::clone(block), asked: false };
        let place = self.free_slot();
        if place == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[place] = slot;
        }
        let slots = &self.slots;
        self.places.insert_unique(spread(offset), place, |place| spread(slots[*place].offset));
    }

    /// Returns the slot for a new block: an unused slot, or the slot of an evicted block.
    fn free_slot(&mut self) -> usize {
        if self.slots.len() < self.capacity {
            return self.slots.len();
        }
        while std::mem::take(&mut self.slots[self.candidate].asked) {
            self.step();
        }
        let place = self.candidate;
        self.step();
        if let Ok(entry) = self.places.find_entry(spread(self.slots[place].offset), |other| *other == place) {
            entry.remove();
        }
        place
    }

    fn step(&mut self) {
        self.candidate = (self.candidate + 1) % self.slots.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(byte: u8) -> Arc<MetaBlock> {
        Arc::new(MetaBlock { bytes: vec![byte], next: 0 })
    }

    fn kept(cache: &Cache, offset: u64) -> Option<u8> {
        cache.get(offset).map(|block| block.bytes[0])
    }

    #[test]
    fn one_block_is_always_kept() {
        let cache = Cache::new(0);
        for offset in 0..100 {
            cache.put(offset, &block(offset as u8));
            assert_eq!(kept(&cache, offset), Some(offset as u8));
            assert!(offset == 0 || kept(&cache, offset - 1).is_none());
        }
    }

    #[test]
    fn the_cache_stays_within_its_limit() {
        let cache = Cache::new(100 * (METADATA_BLOCK_SIZE + OVERHEAD));
        for offset in 0..10_000 {
            cache.put(offset * 7, &block(offset as u8));
        }
        let left: Vec<u64> = (0..10_000).filter(|offset| kept(&cache, offset * 7).is_some()).collect();
        assert!((50..=100).contains(&left.len()), "{}", left.len());
        assert!(left.iter().all(|offset| kept(&cache, offset * 7) == Some(*offset as u8)));
    }

    #[test]
    fn recently_used_blocks_stay_cached() {
        let cache = Cache::new(4 * (METADATA_BLOCK_SIZE + OVERHEAD));
        cache.put(1, &block(1));
        for offset in 2..100 {
            assert_eq!(kept(&cache, 1), Some(1), "{offset}");
            cache.put(offset, &block(9));
        }
    }
}
