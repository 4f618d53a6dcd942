//! The one place that says whose locks, atomics and threads the engine runs on: the standard library's, or a model
//! checker's (`--cfg loom`, `--cfg shuttle`).

#[cfg(not(any(loom, shuttle)))]
mod real {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use std::thread::park_timeout;
    pub(crate) use std::{hint, thread};

    /// Pauses before a thread parks: 2 to 4 microseconds, about what parking and being woken costs, so that waiting
    /// never costs more than twice the cheaper of the two.
    pub(crate) const SPINS: u32 = 60;
}

#[cfg(loom)]
mod real {
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use loom::{hint, thread};

    /// A model has no time: what would only end by itself must be woken, or it is a deadlock that the model reports.
    pub(crate) fn park_timeout(_: std::time::Duration) {
        thread::park();
    }

    /// Spinning only multiplies the schedules of a model.
    pub(crate) const SPINS: u32 = 0;
}

#[cfg(shuttle)]
mod real {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use shuttle::{hint, thread};

    /// As under loom: a wait that nobody ends is a deadlock.
    pub(crate) fn park_timeout(_: std::time::Duration) {
        thread::park();
    }

    /// Enough for both ways out of a spin.
    pub(crate) const SPINS: u32 = 1;
}

pub(crate) use real::*;
use std::sync::{PoisonError, TryLockError};

/// Locks. No panic of foreign code passes a lock that is held, so a poisoned one guards nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks if nobody holds the lock.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Stands between a thread's store of what it did and its look at what others did, both sequentially consistent.
///
/// Those two accesses are enough for the hardware and the language. loom takes them for acquire and release only, and
/// knows the order from fences.
#[inline]
pub(crate) fn store_then_look() {
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}

/// A value on cache lines of its own, so that watching it slows nobody down who writes its neighbours.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
