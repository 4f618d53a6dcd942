//! Puts one worker to sleep until it is woken, with the reason for the wake-up.

use std::sync::Arc;

use crate::sync::Parker;
use crate::sync::atomic::{AtomicU8, Ordering};

/// Why a sleeping worker is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeReason {
    /// To look for a job. The woken worker is the searcher.
    Search,
    /// To check for a change (a closed pipeline, the end).
    Recheck,
}

#[derive(Debug)]
pub(crate) struct WorkerParker {
    /// Set by the thread that wakes the worker, cleared by the worker.
    reason: AtomicU8,
    parker: Parker,
    queue: usize,
}

const NONE: u8 = 0;
const SEARCH: u8 = 1;
const RECHECK: u8 = 2;

impl WorkerParker {
    /// The parker of the current thread.
    pub(crate) fn current(queue: usize) -> Arc<Self> {
        Arc::new(Self { reason: AtomicU8::new(NONE), parker: Parker::here(), queue })
    }

    pub(crate) fn queue(&self) -> usize {
        self.queue
    }

    /// Wakes the worker: once per sleep, by the thread that removed it from the list of sleepers.
    pub(crate) fn wake(&self, reason: WakeReason) {
        let reason = if reason == WakeReason::Search { SEARCH } else { RECHECK };
        // A store would be enough, but loom does not know that it is ordered after the swap of a sleeper that missed it.
        self.reason.swap(reason, Ordering::SeqCst);
        self.parker.unpark();
    }

    /// Sleeps until another thread wakes the worker.
    pub(crate) fn sleep(&self) -> WakeReason {
        loop {
            match self.reason.swap(NONE, Ordering::SeqCst) {
                NONE => self.parker.park(),
                SEARCH => return WakeReason::Search,
                _ => return WakeReason::Recheck,
            }
        }
    }
}
