//! Where one worker sleeps until it is called.

use std::sync::Arc;

use crate::sync::Parker;
use crate::sync::atomic::{AtomicU8, Ordering};

/// What a sleeper is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// To look for a job. Whoever is called so is the searcher.
    Search,
    /// To see what has changed.
    LookUp,
}

/// The seat of one worker.
#[derive(Debug)]
pub(crate) struct Seat {
    call: AtomicU8,
    parker: Parker,
    /// The worker's own queue.
    queue: usize,
}

const NO_CALL: u8 = 0;
const SEARCH: u8 = 1;
const LOOK_UP: u8 = 2;

impl Seat {
    /// A seat for the current thread.
    pub(crate) fn here(queue: usize) -> Arc<Self> {
        Arc::new(Self { call: AtomicU8::new(NO_CALL), parker: Parker::here(), queue })
    }

    /// The worker's own queue.
    pub(crate) fn queue(&self) -> usize {
        self.queue
    }

    /// Calls the worker: once for each sleep, by whoever took it from the list of sleepers.
    pub(crate) fn wake(&self, call: Call) {
        let call = if call == Call::Search { SEARCH } else { LOOK_UP };
        // A swap where a store would do: loom does not know that a store comes behind the swap of a sleeper that missed it.
        self.call.swap(call, Ordering::SeqCst);
        self.parker.unpark();
    }

    /// Sleeps until it is called.
    pub(crate) fn sleep(&self) -> Call {
        loop {
            match self.call.swap(NO_CALL, Ordering::SeqCst) {
                NO_CALL => self.parker.park(),
                SEARCH => return Call::Search,
                _ => return Call::LookUp,
            }
        }
    }
}
