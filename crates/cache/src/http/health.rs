//! Decides when a server costs more than it saves and must not be used any more.
//!
//! - Three consecutive failed requests end the use of the server. A request fails after at most
//!   [`client::REQUEST`](super::client). An answer in time that is not the entry is not a failure: it costs only its time, like an
//!   answer that the entry is missing.
//! - An answer may take as long as compressing the block, or at least [`FREE`]. Longer answers lose time, and shorter ones gain
//!   time. If several workers wait at the same time, each counts its share. A loss of more than [`LOST_MOST`] ends the use of the
//!   server.
//!
//! A slow or unreachable server therefore costs about five seconds in total, for any number of blocks.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// A monotonic clock.
pub type Clock = fn() -> Duration;

/// Time that an answer may always take.
pub const FREE: Duration = Duration::from_millis(50);
/// Maximum time that may be lost.
const LOST_MOST: Duration = Duration::from_secs(2);
/// Maximum number of consecutive failed requests.
const FAILURES_MOST: u32 = 3;

/// The state of one kind of requests: reads or writes.
#[derive(Debug)]
pub struct Health {
    clock: Clock,
    /// Number of requests that wait for their answers.
    waiting: AtomicU32,
    /// Sum of the times of all answers, in nanoseconds.
    waited: AtomicU64,
    /// Lost time in nanoseconds.
    lost: AtomicU64,
    /// Number of failures since the last success.
    failures: AtomicU32,
    ended: AtomicBool,
}

impl Health {
    pub fn new(clock: Clock) -> Health {
        let waiting = AtomicU32::new(0);
        let failures = AtomicU32::new(0);
        let waited = AtomicU64::new(0);
        let lost = AtomicU64::new(0);
        Health { clock, waiting, waited, lost, failures, ended: AtomicBool::new(false) }
    }

    /// Waits for an answer that is worth `worth`. Returns the answer and its time.
    pub fn wait<T>(&self, worth: Duration, request: impl FnOnce() -> T) -> (T, Duration) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let start = (self.clock)();
        let answer = request();
        let time = (self.clock)().saturating_sub(start);
        let waiting = self.waiting.fetch_sub(1, Ordering::Relaxed).max(1);
        self.waited.fetch_add(nanoseconds(time), Ordering::Relaxed);
        let lost = time.saturating_sub(worth) / waiting;
        let gained = worth.saturating_sub(time) / waiting;
        let change = |before: u64| before.saturating_add(nanoseconds(lost)).saturating_sub(nanoseconds(gained));
        // This update cannot fail.
        let _ = self.lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| Some(change(before)));
        (answer, time)
    }

    /// Sum of the times of all answers. Simultaneous waits of several workers all count.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    pub fn now(&self) -> Duration {
        (self.clock)()
    }

    /// Time that may still be lost.
    pub fn left(&self) -> Duration {
        LOST_MOST.saturating_sub(Duration::from_nanos(self.lost.load(Ordering::Relaxed)))
    }

    pub fn failed(&self) {
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES_MOST {
            self.end();
        }
    }

    pub fn succeeded(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The speed of compression so far.
#[derive(Debug, Default)]
pub struct Rate {
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Rate {
    pub fn add(&self, bytes: usize, time: Duration) {
        self.nanoseconds.fetch_add(nanoseconds(time), Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Time to compress `bytes` bytes; `None` before the first measurement.
    pub fn time_of(&self, bytes: usize) -> Option<Duration> {
        let all = self.bytes.load(Ordering::Relaxed);
        let time = self.nanoseconds.load(Ordering::Relaxed);
        let nanoseconds = u128::from(time).checked_mul(bytes as u128)?.checked_div(u128::from(all))?;
        Some(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    fn pass(milliseconds: u64) {
        NOW.set(NOW.get() + Duration::from_millis(milliseconds));
    }

    fn health() -> Health {
        Health::new(|| NOW.get())
    }

    #[test]
    fn failures_in_a_row_end_it() {
        let health = health();
        for _ in 0..10 {
            health.failed();
            health.failed();
            health.succeeded();
        }
        assert!(!health.has_ended());
        (0..3).for_each(|_| health.failed());
        assert!(health.has_ended());
    }

    #[test]
    fn what_is_beyond_its_worth_is_lost() {
        let health = health();
        let wait = |time, worth| health.wait(Duration::from_millis(worth), || pass(time)).1.as_millis();
        assert_eq!((wait(100, 100), wait(5, 20)), (100, 5));
        assert_eq!(health.left(), LOST_MOST);
        wait(1600, 100);
        assert_eq!(health.left(), Duration::from_millis(500));
        wait(0, 500);
        assert_eq!(health.left(), Duration::from_secs(1));
        wait(5000, 0);
        assert_eq!((health.left(), health.waited()), (Duration::ZERO, Duration::from_millis(6705)));
    }

    #[test]
    fn those_that_wait_together_lose_the_same_time() {
        let health = health();
        health.waiting.store(3, Ordering::Relaxed);
        health.wait(Duration::ZERO, || pass(4000));
        assert_eq!(health.left(), Duration::from_secs(1));
    }

    #[test]
    fn a_rate_is_an_average() {
        let rate = Rate::default();
        assert_eq!(rate.time_of(100), None);
        rate.add(1000, Duration::from_millis(10));
        rate.add(3000, Duration::from_millis(10));
        assert_eq!(rate.time_of(100), Some(Duration::from_micros(500)));
    }
}
