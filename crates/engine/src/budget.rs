//! Counts the bytes in flight, and wakes the caller when enough bytes are returned.

use std::sync::Arc;

use crate::caller::waker::CallerWaker;
use crate::sync;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A limit on the bytes in flight at a time. Clones share the limit and the count.
///
/// The budget counts; it does not allocate. The holder of memory holds a [`Permit`] for it.
#[derive(Clone, Debug)]
pub struct Budget {
    meter: Arc<Meter>,
}

#[derive(Debug)]
struct Meter {
    limit: usize,
    /// Changed by every thread that takes or returns memory.
    used: AtomicUsize,
    peak: AtomicUsize,
    /// Set by the caller alone: a thread that makes `used` fall below it wakes the caller. 0 while the caller does not wait for
    /// memory.
    wake_below: AtomicUsize,
    waker: Arc<CallerWaker>,
}

impl Budget {
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self::with_waker(limit, Arc::new(CallerWaker::default()))
    }

    /// A budget that notifies `waker` when memory that its caller waits for is returned.
    pub(crate) fn with_waker(limit: usize, waker: Arc<CallerWaker>) -> Self {
        let meter = Meter {
            limit,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            wake_below: AtomicUsize::new(0),
            waker,
        };
        Self { meter: Arc::new(meter) }
    }

    #[must_use]
    pub fn limit(&self) -> usize {
        self.meter.limit
    }

    /// Bytes in flight now; more than the limit if [`Budget::take`] exceeded it.
    #[must_use]
    pub fn used(&self) -> usize {
        self.meter.used.load(Ordering::SeqCst)
    }

    /// The most bytes ever in flight.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.meter.peak.load(Ordering::Relaxed)
    }

    /// Takes `bytes` even if they do not fit.
    #[must_use]
    pub fn take(&self, bytes: usize) -> Permit {
        let before = self.meter.add(bytes, usize::MAX).unwrap_or(usize::MAX);
        // Saturates at usize::MAX, so that no sum of requests wraps around to 0.
        self.permit(bytes.min(usize::MAX - before))
    }

    #[must_use]
    pub fn try_take(&self, bytes: usize) -> Option<Permit> {
        self.try_take_beside(bytes, 0)
    }

    /// Takes `bytes` if they fit together with `others` bytes that the caller counts without permits.
    pub(crate) fn try_take_beside(&self, bytes: usize, others: usize) -> Option<Permit> {
        let limit = self.meter.limit.checked_sub(others)?;
        self.meter.add(bytes, limit).map(|_| self.permit(bytes))
    }

    /// Asks for a notification when `bytes` fit together with `others`; false if there is no need to wait.
    ///
    /// A caller that waited only for `bytes` would be woken for every returned block, take one block and wait again. It
    /// therefore also waits until a quarter of the budget is free, and handles that many blocks at one wake-up.
    pub(crate) fn wait_for(&self, bytes: usize, others: usize) -> bool {
        let limit = self.meter.limit;
        let Some(free) = limit.checked_sub(bytes.saturating_add(others)) else {
            // Returned permits can never be enough, only results that leave the pipeline: do not spin, ask for no notification.
            return true;
        };
        let low = free.min(limit - limit / 4);
        self.meter.wake_below.store(low.saturating_add(1), Ordering::SeqCst);
        sync::store_then_load();
        self.used() > low
    }

    /// Withdraws the request of [`Budget::wait_for`].
    pub(crate) fn cancel_wait(&self) {
        self.meter.wake_below.store(0, Ordering::SeqCst);
    }

    fn permit(&self, bytes: usize) -> Permit {
        Permit { meter: Some(Arc::clone(&self.meter)), bytes }
    }
}

impl Meter {
    /// Adds `bytes` unless the sum exceeds `limit`, and returns the sum before. With a limit of `usize::MAX` the sum saturates.
    fn add(&self, bytes: usize, limit: usize) -> Option<usize> {
        let grow = |used: usize| Some(used.saturating_add(bytes)).filter(|&sum| sum <= limit);
        let before = self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, grow).ok()?;
        self.raise_peak(before.saturating_add(bytes));
        Some(before)
    }

    /// Raises the peak. The load comes first because most sums are not a new peak, and a load costs less than a write.
    fn raise_peak(&self, used: usize) {
        if used > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(used, Ordering::Relaxed);
        }
    }

    /// Returns `bytes` and wakes the caller if it waits for them.
    fn release(&self, bytes: usize) {
        let left = self.used.fetch_sub(bytes, Ordering::SeqCst) - bytes;
        sync::store_then_load();
        if left < self.wake_below.load(Ordering::SeqCst) {
            self.waker.notify();
        }
    }
}

/// Bytes taken from a [`Budget`], returned when the permit is dropped, on any thread.
#[derive(Debug)]
pub struct Permit {
    /// `None` for bytes that no budget counts.
    meter: Option<Arc<Meter>>,
    bytes: usize,
}

impl Permit {
    /// A permit without a budget.
    #[must_use]
    pub fn detached(bytes: usize) -> Self {
        Self { meter: None, bytes }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Splits `bytes` off into a new permit, or all bytes if there are fewer.
    #[must_use]
    pub fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { meter: self.meter.clone(), bytes }
    }

    /// Adds the bytes of `other`. If the two belong to different budgets, the bytes move to the budget of `self`.
    pub fn merge(&mut self, mut other: Self) {
        if self.meter.is_none() {
            std::mem::swap(self, &mut other);
        }
        match (&self.meter, &other.meter) {
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => self.bytes += std::mem::take(&mut other.bytes),
            (Some(mine), _) => self.bytes += Budget { meter: Arc::clone(mine) }.take(other.bytes).leak(),
            (None, _) => self.bytes = self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns all but `bytes` to the budget; does nothing if the permit has no more than `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.bytes.saturating_sub(bytes);
        drop(self.split(surplus));
    }

    /// Consumes the permit without returning its bytes to the budget: another permit takes them over.
    fn leak(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(meter) = self.meter.as_ref().filter(|_| self.bytes > 0) {
            meter.release(self.bytes);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::CancelToken;
    use proptest::prelude::*;
    use std::thread;

    #[test]
    fn drop_returns_bytes_and_keeps_the_peak() {
        let budget = Budget::new(100);
        let a = budget.try_take(60).unwrap();
        assert!(budget.try_take(41).is_none());
        let b = budget.try_take(40).unwrap();
        assert_eq!((budget.used(), budget.peak()), (100, 100));
        drop(a);
        assert_eq!((budget.used(), b.bytes()), (40, 40));
        let c = budget.take(200);
        assert_eq!((budget.used(), budget.peak()), (240, 240));
        drop((b, c));
        assert_eq!((budget.used(), budget.peak(), budget.limit()), (0, 240, 100));
    }

    #[test]
    fn subtracts_bytes_without_permits_from_the_limit() {
        let budget = Budget::new(100);
        assert!(budget.try_take_beside(60, 41).is_none());
        assert!(budget.try_take_beside(1, 101).is_none());
        assert_eq!(budget.try_take_beside(60, 40).unwrap().bytes(), 60);
    }

    #[test]
    fn huge_requests_saturate() {
        let budget = Budget::new(10);
        let a = budget.take(usize::MAX);
        let b = budget.take(5);
        assert_eq!((a.bytes(), b.bytes(), budget.used()), (usize::MAX, 0, usize::MAX));
        drop((a, b));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn merging_moves_bytes_between_budgets() {
        let left = Budget::new(10);
        let right = Budget::new(10);
        let mut permit = Permit::detached(1);
        permit.merge(left.take(2));
        assert_eq!((permit.bytes(), left.used()), (3, 3));
        permit.merge(right.take(4));
        assert_eq!((permit.bytes(), left.used(), right.used()), (7, 7, 0));
        permit.merge(Permit::detached(8));
        assert_eq!((permit.bytes(), left.used()), (15, 15));
        drop(permit);
        assert_eq!(left.used(), 0);
    }

    #[test]
    fn the_waiting_caller_is_woken_once_enough_is_free() {
        let waker = Arc::new(CallerWaker::default());
        let budget = Budget::with_waker(100, Arc::clone(&waker));
        let mut permit = budget.take(100);
        waker.prepare();
        assert!(budget.wait_for(10, 0));
        let thread = thread::spawn(move || {
            permit.shrink_to(90);
            permit.shrink_to(75);
        });
        waker.sleep(&CancelToken::new());
        assert!(budget.used() <= 75);
        thread.join().unwrap();
        assert!(!budget.wait_for(10, 0), "nothing to wait for now");
        budget.cancel_wait();
    }

    proptest! {
        #[test]
        fn permits_always_add_up_to_the_bytes_in_use(steps in prop::collection::vec((0u8..5, 0usize..1000), 1..60)) {
            let budget = Budget::new(5000);
            let mut held: Vec<Permit> = vec![budget.take(100)];
            for (step, bytes) in steps {
                let last = held.len() - 1;
                match step {
                    0 => held.push(budget.take(bytes)),
                    1 => { let part = held[last].split(bytes); held.push(part); }
                    2 if last > 0 => { let other = held.swap_remove(0); let end = held.len() - 1; held[end].merge(other); }
                    3 => held[last].shrink_to(bytes),
                    _ if last > 0 => { held.swap_remove(bytes % (last + 1)); }
                    _ => {}
                }
                prop_assert_eq!(budget.used(), held.iter().map(Permit::bytes).sum::<usize>());
            }
            held.clear();
            prop_assert_eq!(budget.used(), 0);
        }
    }
}
