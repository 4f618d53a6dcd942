//! The locks, atomics and threads that the engine uses: the standard library's, a model checker's (`--cfg loom`,
//! `--cfg shuttle`), or the standard library's with annotations for helgrind (`--cfg helgrind`).

#[cfg(not(any(loom, shuttle)))]
mod real {
    #[cfg(helgrind)]
    pub(crate) use crate::checks::helgrind::{Condvar, Mutex, MutexGuard, atomic};
    #[cfg(not(helgrind))]
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use std::{hint, thread};

    /// Pauses before a thread parks: 2 to 4 microseconds, about the cost of parking and being woken. Waiting therefore never
    /// costs more than twice the cheaper of spinning and parking.
    pub(crate) const SPINS: u32 = 60;

    /// A thread that can be put to sleep and woken. A wake-up that comes first ends the next sleep at once.
    #[derive(Clone, Debug)]
    pub(crate) struct Parker(thread::Thread);

    impl Parker {
        /// The current thread. No other thread may put it to sleep.
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

/// Parking with the standard library's guarantees, built from a lock. The parking of loom loses a wake-up while the thread waits for
/// a lock. The parking of shuttle ends sleeps for no reason, and endlessly under an unfair schedule.
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

        /// A model has no time: a sleep that only a timeout would end is a deadlock, which the model reports.
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

    /// None: spinning only multiplies the schedules of a model.
    pub(crate) const SPINS: u32 = 0;
}

#[cfg(shuttle)]
mod real {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use shuttle::{hint, thread};

    /// Enough to leave a spin in both ways.
    pub(crate) const SPINS: u32 = 1;
}

#[cfg(any(loom, shuttle))]
pub(crate) use parker::Parker;
pub(crate) use real::*;
use std::sync::{PoisonError, TryLockError};

/// Locks. User code that panics is caught before the panic reaches a held lock, so a poisoned lock guards valid data.
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

/// Locks, and returns whether another thread held the lock. A model checker does not look first: that doubles its schedules and shows
/// nothing new.
pub(crate) fn lock_counted<T>(mutex: &Mutex<T>) -> (MutexGuard<'_, T>, bool) {
    let free = if cfg!(any(loom, shuttle)) { None } else { try_lock(mutex) };
    free.map_or_else(|| (lock(mutex), !cfg!(any(loom, shuttle))), |guard| (guard, false))
}

/// Called between a thread's store and its load of what other threads store, both sequentially consistent.
///
/// The two accesses are enough for the hardware and the language. loom treats them as acquire and release only, and needs a
/// fence to know their order.
#[inline]
pub(crate) fn store_then_load() {
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}

/// Called before a thread drops its share of `value`. The count of the `Arc` orders a later sole owner after this drop, but
/// helgrind does not know the count.
#[inline]
pub(crate) fn before_drop<T>(value: &T) {
    #[cfg(helgrind)]
    crate::checks::helgrind::before(value);
    let _ = value;
}

/// Called where a thread has found that it owns `value` alone; see [`before_drop`].
#[inline]
pub(crate) fn owned_alone<T>(value: &T) {
    #[cfg(helgrind)]
    crate::checks::helgrind::after(value);
    let _ = value;
}

/// A value on cache lines of its own, so that writers of neighbouring values do not slow down its readers.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
