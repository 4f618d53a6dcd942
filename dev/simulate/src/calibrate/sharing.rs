//! Data that threads share: a queue under an uncontended lock, a cache line that moves between two cores, and many lines that are
//! only read.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use super::rounds;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::{self, black_box};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Rounds, and round trips in each: short rounds, because both threads have to be running all the time.
const ROUNDS: usize = 201;
const TRIPS: usize = 50;
/// Reads before a thread yields: the other thread may not be running.
const READS_BEFORE_YIELD: usize = 2_000;
const KEYS: usize = 64;
const SCANS: usize = 2_000;
/// The value at which the other thread stops.
const OVER: u64 = u64::MAX;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// Nanoseconds to move a line from one core to another.
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

/// Answers each odd number with the next even one.
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
    for reads in 0_usize.. {
        let value = line.load(Ordering::Acquire);
        if good(value) {
            return value;
        }
        if reads % READS_BEFORE_YIELD == READS_BEFORE_YIELD - 1 { thread::yield_now() } else { hint::spin_loop() }
    }
    OVER
}

/// Nanoseconds to read one of many queues' earliest keys, their lines local.
pub fn peek() -> f64 {
    let keys: Vec<Padded> = (0..KEYS as u64).map(|key| Padded(AtomicU64::new(key ^ 0x15))).collect();
    let scan = rounds::each(SCANS, |_| {
        black_box(black_box(&keys).iter().map(|key| key.0.load(Ordering::Relaxed)).min());
    });
    scan / KEYS as f64
}

/// Jobs in the queue: about a full window.
const JOBS: u64 = 256;
const STEPS: usize = 20_000;

/// Nanoseconds to take the lock, push or pop a job, and release the lock.
pub fn lock() -> f64 {
    let queue = Mutex::new((0..JOBS).map(Reverse).collect::<BinaryHeap<_>>());
    let both = rounds::each(STEPS, |step| {
        let locked = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        locked().push(Reverse(JOBS + step as u64));
        black_box(locked().pop());
    });
    both / 2.0
}
