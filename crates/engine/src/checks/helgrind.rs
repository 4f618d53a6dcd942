//! The standard library's locks and atomics with annotations for helgrind (`--cfg helgrind`), which knows neither futexes nor
//! the ordering of atomics, and would report accesses that they guard as races.
//!
//! helgrind learns exactly what the language promises: a relaxed access orders nothing. No function here is inlined, so that
//! `tests/helgrind.supp` can suppress accesses to the atomics themselves, which are not races, by their function.

use std::ops::{Deref, DerefMut};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};

use crabgrind::helgrind::{Annotation, annotate_memory};

fn annotate<T>(of: &T, what: Annotation) {
    annotate_memory(std::ptr::from_ref(of).cast_mut().cast(), what);
}

/// Everything this thread did before happens before everything that another thread does after it calls [`after`] with `value`.
pub(crate) fn before<T>(value: &T) {
    annotate(value, Annotation::HappensBefore);
}

pub(crate) fn after<T>(value: &T) {
    annotate(value, Annotation::HappensAfter);
}

/// A lock that tells helgrind which thread holds it, and so in which order a thread takes several locks.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

/// A held lock. Helgrind learns of the release before it happens.
pub(crate) struct MutexGuard<'a, T> {
    annotation: LockAnnotation<'a, T>,
    held: sync::MutexGuard<'a, T>,
}

/// Helgrind's record of a held lock.
struct LockAnnotation<'a, T>(&'a Mutex<T>);

impl<T> Drop for LockAnnotation<'_, T> {
    fn drop(&mut self) {
        annotate(self.0, Annotation::RwLockReleased);
    }
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    #[inline(never)]
    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(self.held_by(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    #[inline(never)]
    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(held) => Ok(self.held_by(held)),
            Err(TryLockError::Poisoned(held)) => Ok(self.held_by(held.into_inner())),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }

    fn held_by<'a>(&'a self, held: sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        annotate(self, Annotation::RwLockAcquired(true));
        MutexGuard { annotation: LockAnnotation(self), held }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

/// Needs no annotation: the lock orders its sleepers.
#[derive(Debug, Default)]
pub(crate) struct Condvar(sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[inline(never)]
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let MutexGuard { annotation, held } = guard;
        let mutex = annotation.0;
        drop(annotation);
        Ok(mutex.held_by(self.0.wait(held).unwrap_or_else(PoisonError::into_inner)))
    }

    #[inline(never)]
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Atomics that report their ordering to helgrind.
pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::Ordering;

    use super::{Annotation, annotate};

    fn releases<T>(of: &T, ordering: Ordering) {
        if matches!(ordering, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst) {
            annotate(of, Annotation::HappensBefore);
        }
    }

    fn acquires<T>(of: &T, ordering: Ordering) {
        if matches!(ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst) {
            annotate(of, Annotation::HappensAfter);
        }
    }

    /// A type of the standard library with its functions that only read, only write, or do both.
    macro_rules! annotated {
        ($name:ident, $of:ty, $($both:ident($($value:ident: $type:ty),*) -> $back:ty;)*) => {
            #[derive(Debug, Default)]
            pub(crate) struct $name(std::sync::atomic::$name);

            #[allow(dead_code, reason = "each type has all methods that the engine uses on any of them")]
            impl $name {
                pub(crate) fn new(value: $of) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }

                #[inline(never)]
                pub(crate) fn load(&self, ordering: Ordering) -> $of {
                    let value = self.0.load(ordering);
                    acquires(self, ordering);
                    value
                }

                #[inline(never)]
                pub(crate) fn store(&self, value: $of, ordering: Ordering) {
                    releases(self, ordering);
                    self.0.store(value, ordering);
                }

                #[inline(never)]
                pub(crate) fn compare_exchange(
                    &self,
                    current: $of,
                    new: $of,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$of, $of> {
                    releases(self, success);
                    let result = self.0.compare_exchange(current, new, success, failure);
                    acquires(self, if result.is_ok() { success } else { failure });
                    result
                }

                $(#[inline(never)]
                pub(crate) fn $both(&self, $($value: $type,)* ordering: Ordering) -> $back {
                    releases(self, ordering);
                    let before = self.0.$both($($value,)* ordering);
                    acquires(self, ordering);
                    before
                })*
            }
        };
    }

    annotated!(AtomicBool, bool, swap(value: bool) -> bool;);
    annotated!(AtomicU8, u8, swap(value: u8) -> u8;);
    annotated!(AtomicU32, u32, swap(value: u32) -> u32;);
    annotated!(AtomicU64, u64, fetch_add(more: u64) -> u64; fetch_max(value: u64) -> u64;);
    annotated!(AtomicUsize, usize, fetch_add(more: usize) -> usize; fetch_sub(less: usize) -> usize; fetch_max(value: usize) -> usize;);

    impl AtomicUsize {
        pub(crate) fn fetch_update(
            &self,
            success: Ordering,
            failure: Ordering,
            next: impl Fn(usize) -> Option<usize>,
        ) -> Result<usize, usize> {
            let mut before = self.load(failure);
            while let Some(after) = next(before) {
                match self.compare_exchange(before, after, success, failure) {
                    Ok(before) => return Ok(before),
                    Err(now) => before = now,
                }
            }
            Err(before)
        }
    }
}
