//! Cache lines: one that goes to and fro between two cores, and many that are only looked at.

use super::rounds;
use std::hint::{self, black_box};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Rounds, and round trips in each: short ones, for both ends have to be on a core all the time.
const ROUNDS: usize = 201;
const TRIPS: usize = 50;
/// Looks before a thread lets another have its core: the other end may not be running.
const PATIENCE: usize = 2_000;
const KEYS: usize = 64;
const SCANS: usize = 2_000;
/// The other end stops at this.
const OVER: u64 = u64::MAX;

/// On cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// A line from one core to another: nanoseconds.
pub fn transfer() -> f64 {
    let line = Padded::default();
    thread::scope(|scope| {
        scope.spawn(|| answer(&line.0));
        let trips = rounds::times(ROUNDS, TRIPS, |_| {
            let odd = line.0.load(Ordering::Relaxed) + 1;
            line.0.store(odd, Ordering::Release);
            until(&line.0, |value| value > odd);
        });
        line.0.store(OVER, Ordering::Release);
        rounds::low(trips) / 2.0
    })
}

/// Makes each odd number the next even one.
fn answer(line: &AtomicU64) {
    loop {
        let odd = until(line, |value| value % 2 == 1);
        if odd == OVER {
            return;
        }
        line.store(odd + 1, Ordering::Release);
    }
}

fn until(line: &AtomicU64, good: impl Fn(u64) -> bool) -> u64 {
    for look in 0_usize.. {
        let value = line.load(Ordering::Acquire);
        if good(value) {
            return value;
        }
        if look % PATIENCE == PATIENCE - 1 { thread::yield_now() } else { hint::spin_loop() }
    }
    OVER
}

/// A look at one of many queues' best keys, their lines in the own cache: nanoseconds.
pub fn peek() -> f64 {
    let keys: Vec<Padded> = (0..KEYS as u64).map(|key| Padded(AtomicU64::new(key ^ 0x15))).collect();
    let scan = rounds::each(SCANS, |_| {
        black_box(black_box(&keys).iter().map(|key| key.0.load(Ordering::Relaxed)).min());
    });
    scan / KEYS as f64
}
