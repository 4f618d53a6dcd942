//! The place of one result: a worker fills it, the caller takes it out.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Fault;
use crate::bell::Bell;

/// What a job came to.
pub(crate) type Outcome<T, E> = Result<T, Fault<E>>;

/// No result yet, and nobody waits for it.
const PENDING: u8 = 0;
/// No result yet, and the caller sleeps until it is here.
const WANTED: u8 = 1;
/// The result is here.
const DONE: u8 = 2;

/// One result, filled once.
#[derive(Debug)]
pub(crate) struct Slot<T, E> {
    /// Told apart from the result so that the caller can look at the head of a lane without taking a lock.
    state: AtomicU8,
    outcome: Mutex<Option<Outcome<T, E>>>,
}

impl<T, E> Slot<T, E> {
    /// An empty slot.
    pub(crate) fn new() -> Self {
        Self { state: AtomicU8::new(PENDING), outcome: Mutex::new(None) }
    }

    /// Puts the result in, and rings if the caller waits for this very slot.
    pub(crate) fn fill(&self, outcome: Outcome<T, E>, bell: &Bell) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        if self.state.swap(DONE, Ordering::SeqCst) == WANTED {
            bell.ring();
        }
    }

    /// Takes the result out, if it is here.
    pub(crate) fn take(&self) -> Option<Outcome<T, E>> {
        if self.state.load(Ordering::Acquire) != DONE {
            return None;
        }
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Asks for a ring when the result is here; false if it is here already.
    pub(crate) fn want(&self) -> bool {
        let now = self.state.compare_exchange(PENDING, WANTED, Ordering::SeqCst, Ordering::SeqCst);
        now != Err(DONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CancelToken;

    #[test]
    fn a_filled_slot_gives_its_result_once() {
        let (slot, bell) = (Slot::<u32, ()>::new(), Bell::default());
        assert!(slot.take().is_none());
        slot.fill(Ok(7), &bell);
        assert!(!slot.want());
        assert!(matches!(slot.take(), Some(Ok(7))));
        assert!(slot.take().is_none());
    }

    #[test]
    fn only_a_wanted_slot_rings() {
        let bell = Bell::default();
        let (quiet, wanted) = (Slot::<u32, ()>::new(), Slot::<u32, ()>::new());
        bell.arm();
        assert!(wanted.want() && wanted.want());
        quiet.fill(Ok(1), &bell);
        wanted.fill(Ok(2), &bell);
        assert!(!bell.sleep(&CancelToken::new()));
    }
}
