//! Where one worker sleeps until it is called.

use std::sync::Arc;

use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::thread::{self, Thread};

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
    thread: Thread,
    /// The worker's own queue.
    queue: usize,
}

const NO_CALL: u8 = 0;
const SEARCH: u8 = 1;
const LOOK_UP: u8 = 2;

impl Seat {
    /// A seat for the current thread.
    pub(crate) fn here(queue: usize) -> Arc<Self> {
        Arc::new(Self { call: AtomicU8::new(NO_CALL), thread: thread::current(), queue })
    }

    /// The worker's own queue.
    pub(crate) fn queue(&self) -> usize {
        self.queue
    }

    /// Calls the worker: once for each sleep, by whoever took it from the list of sleepers.
    pub(crate) fn wake(&self, call: Call) {
        let call = if call == Call::Search { SEARCH } else { LOOK_UP };
        self.call.store(call, Ordering::SeqCst);
        self.thread.unpark();
    }

    /// Sleeps until it is called.
    pub(crate) fn sleep(&self) -> Call {
        loop {
            match self.call.swap(NO_CALL, Ordering::SeqCst) {
                NO_CALL => thread::park(),
                SEARCH => return Call::Search,
                _ => return Call::LookUp,
            }
        }
    }
}
