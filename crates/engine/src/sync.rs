//! The locks, atomics and threads that the engine runs on: the standard library's, a model checker's (`--cfg loom`,
//! `--cfg shuttle`), or the standard library's annotated for helgrind (`--cfg helgrind`).

#[cfg(not(any(loom, shuttle)))]
mod real {
    #[cfg(helgrind)]
    pub(crate) use crate::helgrind::{Condvar, Mutex, MutexGuard, atomic};
    #[cfg(not(helgrind))]
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use std::{hint, thread};

    /// Pauses before a thread parks: 2 to 4 microseconds, about what parking and being woken costs, so that waiting
    /// never costs more than twice the cheaper of the two.
    pub(crate) const SPINS: u32 = 60;

    /// A thread that can be put to sleep and woken: a wake-up before the sleep ends it at once.
    #[derive(Clone, Debug)]
    pub(crate) struct Parker(thread::Thread);

    impl Parker {
        /// The current thread, which alone may put itself to sleep.
        pub(crate) fn here() -> Self {
            Self(thread::current())
        }

        pub(crate) fn park(&self) {
            thread::park();
        }

        pub(crate) fn park_timeout(&self, most: std::time::Duration) {
            thread::park_timeout(most);
        }

        pub(crate) fn unpark(&self) {
            self.0.unpark();
        }
    }
}

/// Parking with the guarantees of the standard library's, built from a lock. loom loses a wake-up when its thread is waiting for a
/// lock, and shuttle ends sleeps for no reason, for ever if its schedule is unfair.
#[cfg(any(loom, shuttle))]
mod parker {
    use super::real::{Condvar, Mutex};
    use std::sync::Arc;

    #[derive(Clone, Debug)]
    pub(crate) struct Parker(Arc<(Mutex<bool>, Condvar)>);

    impl Parker {
        pub(crate) fn here() -> Self {
            Self(Arc::new((Mutex::new(false), Condvar::new())))
        }

        pub(crate) fn park(&self) {
            let mut woken = super::lock(&self.0.0);
            while !*woken {
                woken = self.0.1.wait(woken).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            *woken = false;
        }

        /// A model has no time: what would only end by itself must be woken, or it is a deadlock that the model reports.
        pub(crate) fn park_timeout(&self, _: std::time::Duration) {
            self.park();
        }

        pub(crate) fn unpark(&self) {
            *super::lock(&self.0.0) = true;
            self.0.1.notify_one();
        }
    }
}

#[cfg(loom)]
mod real {
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use loom::{hint, thread};

    /// Spinning only multiplies the schedules of a model.
    pub(crate) const SPINS: u32 = 0;
}

#[cfg(shuttle)]
mod real {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use shuttle::{hint, thread};

    /// Enough for both ways out of a spin.
    pub(crate) const SPINS: u32 = 1;
}

#[cfg(any(loom, shuttle))]
pub(crate) use parker::Parker;
pub(crate) use real::*;
use std::sync::{PoisonError, TryLockError};

/// Locks. No panic of foreign code passes a lock that is held, so a poisoned one guards nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks if the lock is free.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Called between a thread's store and its load of what other threads store, both sequentially consistent.
///
/// Those two accesses are enough for the hardware and the language. loom takes them for acquire and release only, and
/// knows the order from fences.
#[inline]
pub(crate) fn store_then_load() {
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}

/// Called before a thread drops its share of `value`. A thread that owns it alone later is ordered after that by the count of
/// the `Arc`, which helgrind does not know.
#[inline]
pub(crate) fn before_drop<T>(value: &T) {
    #[cfg(helgrind)]
    crate::helgrind::before(value);
    let _ = value;
}

/// Called where a thread has found that it owns `value` alone; see [`before_drop`].
#[inline]
pub(crate) fn owned_alone<T>(value: &T) {
    #[cfg(helgrind)]
    crate::helgrind::after(value);
    let _ = value;
}

/// A value on cache lines of its own, so that reading it does not slow down writers of its neighbours.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
