//! Puts the caller to sleep, and lets a worker wake it: only the caller, and only while it sleeps.

use std::time::Duration;

use crate::CancelToken;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{self, Mutex, Parker};

/// Interval at which a sleeping caller checks its cancel token, which a signal handler can set but not notify.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// One sleeper, many notifiers.
///
/// The sleeper calls `prepare`, then registers the result it waits for, then checks whether the result is there already, and
/// only then sleeps. A notifier publishes its result first and then calls `notify`. One of the two therefore always sees the
/// other, and no wake-up is lost.
#[derive(Debug, Default)]
pub(crate) struct CallerWaker {
    /// Set by the caller before it sleeps; cleared by the notifier that wakes it, or by the caller.
    armed: AtomicBool,
    /// Written by the caller; a notifier reads it only if it has cleared `armed`.
    sleeper: Mutex<Option<Parker>>,
}

impl CallerWaker {
    /// Announces that the current thread is about to sleep.
    pub(crate) fn prepare(&self) {
        *sync::lock(&self.sleeper) = Some(Parker::here());
        self.armed.store(true, Ordering::SeqCst);
        sync::store_then_load();
    }

    /// Ends a sleep, or withdraws the announcement.
    pub(crate) fn cancel(&self) {
        self.armed.store(false, Ordering::SeqCst);
    }

    /// Wakes the sleeper. Without one it costs a single load.
    pub(crate) fn notify(&self) {
        if self.armed.load(Ordering::SeqCst) && self.armed.swap(false, Ordering::SeqCst) {
            let sleeper = sync::lock(&self.sleeper);
            if let Some(parker) = sleeper.as_ref() {
                parker.unpark();
            }
        }
    }

    /// Sleeps after `prepare` until notified or until `cancel` is set. Returns whether the thread was parked, not only spinning.
    ///
    /// Nothing else ends the sleep: waking up every [`CANCEL_POLL`] does not hide a lost notification.
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

    /// Whether a notification arrived during a bounded spin.
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
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_notification_before_the_sleep_is_not_lost() {
        let waker = CallerWaker::default();
        waker.prepare();
        waker.notify();
        assert!(!waker.sleep(&CancelToken::new()));
    }

    #[test]
    fn a_notification_without_a_sleeper_has_no_effect() {
        let waker = CallerWaker::default();
        waker.notify();
        waker.prepare();
        assert!(waker.armed.load(Ordering::SeqCst), "the early notification must not end the sleep");
        waker.cancel();
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
    fn a_notification_from_another_thread_ends_the_sleep() {
        let waker = Arc::new(CallerWaker::default());
        waker.prepare();
        let notifier = Arc::clone(&waker);
        let thread = thread::spawn(move || notifier.notify());
        waker.sleep(&CancelToken::new());
        assert!(!waker.armed.load(Ordering::SeqCst));
        thread.join().unwrap();
    }

    #[test]
    fn cancel_ends_the_sleep() {
        let waker = CallerWaker::default();
        let cancel = CancelToken::new();
        cancel.cancel();
        waker.prepare();
        assert!(waker.sleep(&cancel));
        assert!(waker.armed.load(Ordering::SeqCst), "the token ended it, not a notification");
    }
}
