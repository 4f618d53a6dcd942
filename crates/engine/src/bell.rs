//! How the caller sleeps, and how a worker wakes it: the caller only, and only while it sleeps.

use std::time::Duration;

use crate::CancelToken;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{self, Mutex, Parker};

/// How often a sleeping caller looks at its cancel token, which a signal handler can set but not ring for.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// One sleeper, many ringers.
///
/// The sleeper arms the bell, then registers what it waits for, then checks whether that is there already, and only
/// then sleeps. A ringer makes the thing be there first and looks at the bell after. So one of the two always sees the
/// other, and no wake-up is lost.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    armed: AtomicBool,
    sleeper: Mutex<Option<Parker>>,
}

impl Bell {
    /// Announces that the current thread is about to sleep.
    pub(crate) fn arm(&self) {
        *sync::lock(&self.sleeper) = Some(Parker::here());
        self.armed.store(true, Ordering::SeqCst);
        sync::store_then_look();
    }

    /// Ends a sleep, or takes the announcement back.
    pub(crate) fn disarm(&self) {
        self.armed.store(false, Ordering::SeqCst);
    }

    /// Wakes the sleeper if there is one. Costs one load otherwise.
    pub(crate) fn ring(&self) {
        if self.armed.load(Ordering::SeqCst) && self.armed.swap(false, Ordering::SeqCst) {
            let sleeper = sync::lock(&self.sleeper);
            if let Some(parker) = sleeper.as_ref() {
                parker.unpark();
            }
        }
    }

    /// Sleeps on an armed bell until it rings or `cancel` is set; whether the thread was parked, not only spinning.
    ///
    /// Nothing but these two ends it: looking up every [`CANCEL_POLL`] would not hide a lost ring.
    pub(crate) fn sleep(&self, cancel: &CancelToken) -> bool {
        if self.spin() {
            return false;
        }
        let Some(parker) = sync::lock(&self.sleeper).clone() else { return false };
        while self.armed.load(Ordering::SeqCst) && !cancel.is_cancelled() {
            parker.park_timeout(CANCEL_POLL);
        }
        true
    }

    /// Whether the bell rang during a bounded spin.
    fn spin(&self) -> bool {
        for _ in 0..sync::SPINS {
            if !self.armed.load(Ordering::SeqCst) {
                return true;
            }
            sync::hint::spin_loop();
        }
        false
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_ring_before_the_sleep_is_not_lost() {
        let bell = Bell::default();
        bell.arm();
        bell.ring();
        assert!(!bell.sleep(&CancelToken::new()));
    }

    #[test]
    fn nobody_is_woken_when_nobody_sleeps() {
        let bell = Bell::default();
        bell.ring();
        bell.arm();
        assert!(bell.armed.load(Ordering::SeqCst), "the early ring must not disarm");
        bell.disarm();
    }

    #[test]
    fn a_ring_from_another_thread_ends_the_sleep() {
        let bell = Arc::new(Bell::default());
        bell.arm();
        let ringer = Arc::clone(&bell);
        let thread = thread::spawn(move || ringer.ring());
        bell.sleep(&CancelToken::new());
        assert!(!bell.armed.load(Ordering::SeqCst));
        thread.join().unwrap();
    }

    #[test]
    fn cancel_ends_the_sleep() {
        let bell = Bell::default();
        let cancel = CancelToken::new();
        cancel.cancel();
        bell.arm();
        assert!(bell.sleep(&cancel));
        assert!(bell.armed.load(Ordering::SeqCst), "it was the token, not a ring");
    }
}
