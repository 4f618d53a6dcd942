//! Decoded blocks, by their position in the image. Each block is decoded once for any number of readers, and the bytes are bounded.
//!
//! The least recently used block is evicted first. A block that a sequential reader has released is evicted soon, even if there is space. Later
//! blocks then reuse its buffer, which is still in the processor's caches. One lock guards everything. It is held for a look-up, never while a
//! block is decoded.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use hashbrown::HashTable;

use packline_runtime::TaskError;

use super::Core;
use super::decoder_pool::{Decoded, lock};
use crate::{ReadError, Unit, spread};

/// Bytes charged for a cached error.
const FAULT: usize = 512;
/// Number of released blocks that are kept, because requests may overtake each other.
const RELEASED: usize = 8;
/// No neighbour.
const NONE: u32 = u32::MAX;

/// A unit that a caller asks for. Units of an image may overlap, so the position alone does not identify a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnitKey {
    pub(super) unit: Unit,
    /// Whether the unit must have exactly the stated length: an own unit.
    pub(super) exact: bool,
}

impl UnitKey {
    fn hash(&self) -> u64 {
        spread(self.unit.offset)
    }

    /// Returns the bytes that are reserved for the block until it is decoded.
    fn space(&self) -> usize {
        self.unit.length as usize
    }
}

type Outcome = Result<Arc<Decoded>, ReadError>;

/// A block that a thread is decoding.
#[derive(Default)]
pub(super) struct InFlight {
    outcome: Mutex<Option<Outcome>>,
    ready: Condvar,
}

impl InFlight {
    pub(super) fn wait(&self) -> Outcome {
        let mut outcome = lock(&self.outcome);
        loop {
            match &*outcome {
                Some(outcome) => return outcome.clone(),
                None => outcome = self.ready.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn complete(&self, outcome: &Outcome) {
        *lock(&self.outcome) = Some(outcome.clone());
        self.ready.notify_all();
    }
}

enum Held {
    Coming(Arc<InFlight>),
    Here(Outcome),
}

/// The state of a block that was looked up.
pub(super) enum CacheLookup {
    /// The block, or the error of decoding it.
    Here(Outcome),
    /// Another thread decodes it.
    Coming(Arc<InFlight>),
    /// Absent: the caller must decode it now.
    Yours(Arc<InFlight>),
}

struct Slot {
    wanted: UnitKey,
    held: Held,
    cost: usize,
    newer: u32,
    older: u32,
}

/// The slots, in a list from the most to the least recently used. Blocks in flight are not in the list.
struct State {
    table: HashTable<u32>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    /// Blocks released by their readers, in order.
    released: VecDeque<UnitKey>,
    used: usize,
}

pub(super) struct Cache {
    capacity: usize,
    state: Mutex<State>,
}

impl Cache {
    /// Caches at most `capacity` bytes.
    pub(super) fn new(capacity: usize) -> Cache {
        let table = HashTable::new();
        let slots = Vec::new();
        let free = Vec::new();
        let released = VecDeque::new();
        let state = State { table, slots, free, newest: NONE, oldest: NONE, released, used: 0 };
        Cache { capacity, state: Mutex::new(state) }
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn used(&self) -> usize {
        lock(&self.state).used
    }

    /// Looks a block up, and reserves it for the caller if it is absent.
    pub(super) fn ask(&self, wanted: UnitKey) -> CacheLookup {
        let mut state = lock(&self.state);
        let Some(at) = state.find(wanted) else { return CacheLookup::Yours(self.reserve(&mut state, wanted)) };
        match state.held(at) {
            Some(Held::Coming(in_flight)) => CacheLookup::Coming(Arc::clone(in_flight)),
            Some(Held::Here(outcome)) => {
                let outcome = outcome.clone();
                state.touch(at);
                CacheLookup::Here(outcome)
            }
            None => CacheLookup::Here(Err(ReadError::internal("an empty slot in the table".into()))),
        }
    }

    /// Reserves a block if it is neither cached nor in flight, if the blocks in flight leave space for it, and if `passed` returns false.
    /// `passed` is called while no thread can release the block.
    pub(super) fn ask_ahead(&self, wanted: UnitKey, passed: impl FnOnce() -> bool) -> Option<Arc<InFlight>> {
        let mut state = lock(&self.state);
        if state.find(wanted).is_some() || passed() || !state.make_space(self.capacity, wanted.space()) {
            return None;
        }
        Some(self.reserve(&mut state, wanted))
    }

    /// Whether a block is cached or in flight.
    pub(super) fn knows(&self, wanted: UnitKey) -> bool {
        lock(&self.state).find(wanted).is_some()
    }

    fn reserve(&self, state: &mut State, wanted: UnitKey) -> Arc<InFlight> {
        // A reader is served even if blocks in flight take all the space: each thread has at most one.
        state.make_space(self.capacity, wanted.space());
        let in_flight = Arc::new(InFlight::default());
        state.insert(wanted, Held::Coming(Arc::clone(&in_flight)), wanted.space());
        in_flight
    }

    /// Stores the result of a reserved block, and wakes the threads that wait for it. Errors of the device may be temporary and are not cached.
    pub(super) fn deliver(&self, wanted: UnitKey, in_flight: &InFlight, outcome: &Outcome) {
        let mut state = lock(&self.state);
        if let Some(at) = state.find(wanted) {
            match outcome {
                Ok(decoded) => state.settle(at, outcome.clone(), decoded.cost()),
                Err(ReadError::Corrupt { .. } | ReadError::Unsupported { .. }) => {
                    state.settle(at, outcome.clone(), FAULT);
                }
                Err(_) => drop(state.remove(at)),
            }
        }
        // A decoded block may be larger than the reserved space.
        state.make_space(self.capacity, 0);
        drop(state);
        in_flight.complete(outcome);
    }

    /// Evicts a block soon. A thread that still reads the block keeps it until it is done.
    pub(super) fn release(&self, wanted: UnitKey) {
        let mut state = lock(&self.state);
        if state.released.contains(&wanted) {
            return;
        }
        state.released.push_back(wanted);
        let gone = if state.released.len() > RELEASED { state.released.pop_front() } else { None };
        let freed = gone.and_then(|gone| state.evict(gone));
        drop(state);
        // The buffer is freed outside the lock.
        drop(freed);
    }
}

impl State {
    fn find(&self, wanted: UnitKey) -> Option<u32> {
        let same = |&at: &u32| self.slot(at).is_some_and(|slot| slot.wanted == wanted);
        self.table.find(wanted.hash(), same).copied()
    }

    fn slot(&self, at: u32) -> Option<&Slot> {
        self.slots.get(at as usize).and_then(Option::as_ref)
    }

    fn slot_mut(&mut self, at: u32) -> Option<&mut Slot> {
        self.slots.get_mut(at as usize).and_then(Option::as_mut)
    }

    fn held(&self, at: u32) -> Option<&Held> {
        self.slot(at).map(|slot| &slot.held)
    }

    fn insert(&mut self, wanted: UnitKey, held: Held, cost: usize) {
        let slot = Some(Slot { wanted, held, cost, newer: NONE, older: NONE });
        let at = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(at as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        self.used += cost;
        let slots = &self.slots;
        let hash = |&at: &u32| slots.get(at as usize).and_then(Option::as_ref).map_or(0, |slot| slot.wanted.hash());
        self.table.insert_unique(wanted.hash(), at, hash);
    }

    /// Stores the result of a block in flight.
    fn settle(&mut self, at: u32, outcome: Outcome, cost: usize) {
        let Some(slot) = self.slot_mut(at) else { return };
        let reserved = std::mem::replace(&mut slot.cost, cost);
        slot.held = Held::Here(outcome);
        self.used = self.used - reserved + cost;
        self.link_newest(at);
    }

    /// Removes a block if it is cached and not in flight.
    fn evict(&mut self, wanted: UnitKey) -> Option<Held> {
        let at = self.find(wanted)?;
        if !matches!(self.held(at), Some(Held::Here(_))) {
            return None;
        }
        self.unlink(at);
        self.remove(at)
    }

    /// Removes a slot that is in no list.
    fn remove(&mut self, at: u32) -> Option<Held> {
        let slot = self.slots.get_mut(at as usize).and_then(Option::take)?;
        self.used -= slot.cost;
        self.free.push(at);
        if let Ok(entry) = self.table.find_entry(slot.wanted.hash(), |&other| other == at) {
            entry.remove();
        }
        Some(slot.held)
    }

    /// Evicts blocks until `more` bytes fit. Returns false if all remaining blocks are in flight.
    fn make_space(&mut self, capacity: usize, more: usize) -> bool {
        while self.used + more > capacity {
            let oldest = self.oldest;
            if oldest == NONE {
                return false;
            }
            self.unlink(oldest);
            self.remove(oldest);
        }
        true
    }

    fn touch(&mut self, at: u32) {
        if self.newest != at {
            self.unlink(at);
            self.link_newest(at);
        }
    }

    fn unlink(&mut self, at: u32) {
        let Some((newer, older)) = self.slot(at).map(|slot| (slot.newer, slot.older)) else { return };
        match self.slot_mut(newer) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slot_mut(older) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link_newest(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        self.set_neighbours(at, NONE, before);
        match self.slot_mut(before) {
            Some(slot) => slot.newer = at,
            None => self.oldest = at,
        }
    }

    fn set_neighbours(&mut self, at: u32, newer: u32, older: u32) {
        if let Some(slot) = self.slot_mut(at) {
            slot.newer = newer;
            slot.older = older;
        }
    }
}

impl Core {
    /// Returns a block from the cache, or from the thread that is decoding it, or decodes it here.
    pub(super) fn block(&self, wanted: UnitKey) -> Outcome {
        match self.cache.ask(wanted) {
            CacheLookup::Here(outcome) => outcome,
            CacheLookup::Coming(in_flight) => in_flight.wait(),
            CacheLookup::Yours(in_flight) => self.decode(wanted, in_flight),
        }
    }

    /// Decodes a reserved block.
    pub(super) fn decode(&self, wanted: UnitKey, in_flight: Arc<InFlight>) -> Outcome {
        let mut duty = Duty { core: self, wanted, in_flight, outcome: None };
        let outcome = self.decoders.decode(wanted).map(Arc::new);
        duty.outcome = Some(outcome.clone());
        outcome
    }
}

/// Delivers a block even if decoding it panics, so that no thread waits for ever.
struct Duty<'c> {
    core: &'c Core,
    wanted: UnitKey,
    in_flight: Arc<InFlight>,
    outcome: Option<Outcome>,
}

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        let lost = || Err(ReadError::internal("the thread that decoded a block is gone".into()));
        let outcome = self.outcome.take().unwrap_or_else(lost);
        self.core.cache.deliver(self.wanted, &self.in_flight, &outcome);
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests;
