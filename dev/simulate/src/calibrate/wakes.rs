//! Wake-ups of sleeping threads: duration of the call, and time until the first thread runs.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use super::calibration::Woken;
use super::rounds::median;
use crate::host;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Wake-ups measured for each number of sleepers.
const WAKES: usize = 60;
/// Pause between two wake-ups, in which all threads fall asleep again.
const REST: Duration = Duration::from_micros(300);

#[derive(Debug, Default)]
struct Sleeper {
    /// Set by the waking thread, cleared by the sleeper.
    called: AtomicBool,
    /// Time of the wake-up in nanoseconds; 0 while asleep.
    up: AtomicU64,
}

/// Wakes one of `sleepers` parked threads, each in turn.
pub fn one(sleepers: usize) -> Woken {
    let over = Arc::new(AtomicBool::new(false));
    let states: Vec<Arc<Sleeper>> = (0..sleepers).map(|_| Arc::default()).collect();
    let sleep = |sleeper: &Arc<Sleeper>| {
        let sleeper = Arc::clone(sleeper);
        let over = Arc::clone(&over);
        thread::spawn(move || sleep_until_called(&sleeper, &over))
    };
    let threads: Vec<_> = states.iter().map(sleep).collect();
    let mut calls = Vec::new();
    let mut latencies = Vec::new();
    for wake in 0..WAKES {
        thread::sleep(REST);
        let sleeper = &states[wake % sleepers];
        let thread = threads[wake % sleepers].thread();
        let begin = host::nanoseconds();
        sleeper.called.store(true, Ordering::SeqCst);
        thread.unpark();
        let called = host::nanoseconds();
        calls.push((called - begin) as f64);
        latencies.push(first_up(&states[wake % sleepers..=wake % sleepers]).saturating_sub(called) as f64);
    }
    over.store(true, Ordering::SeqCst);
    for thread in threads {
        thread.thread().unpark();
        // The thread returns nothing; a panic in it would not change the measurement.
        let _ = thread.join();
    }
    Woken { sleepers, call_ns: median(calls), latency_ns: median(latencies) }
}

fn sleep_until_called(sleeper: &Sleeper, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        thread::park();
        if sleeper.called.swap(false, Ordering::SeqCst) {
            sleeper.up.store(host::nanoseconds(), Ordering::SeqCst);
        }
    }
}

/// Waits for the first wake-up of these threads and resets all. Returns its time.
fn first_up(states: &[Arc<Sleeper>]) -> u64 {
    loop {
        let up = states.iter().map(|sleeper| sleeper.up.swap(0, Ordering::SeqCst)).filter(|&up| up > 0).min();
        match up {
            Some(up) => return up,
            None => thread::yield_now(),
        }
    }
}

/// State shared by all threads that wait for a broadcast.
#[derive(Debug, Default)]
struct Broadcast {
    /// Number of broadcasts so far.
    called: Mutex<u64>,
    condition: Condvar,
    /// Time of the first wake-up of this broadcast; 0 before.
    up: AtomicU64,
}

/// Wakes all of `sleepers` threads at once.
pub fn all(sleepers: usize) -> Woken {
    let shared = Arc::new(Broadcast::default());
    let sleep = |_| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || wait_for_calls(&shared))
    };
    let threads: Vec<_> = (0..sleepers).map(sleep).collect();
    let mut calls = Vec::new();
    let mut latencies = Vec::new();
    for _ in 0..WAKES {
        thread::sleep(REST);
        shared.up.store(0, Ordering::SeqCst);
        *shared.called.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let begin = host::nanoseconds();
        shared.condition.notify_all();
        let called = host::nanoseconds();
        calls.push((called - begin) as f64);
        latencies.push(shared.first_up().saturating_sub(called) as f64);
    }
    *shared.called.lock().unwrap_or_else(PoisonError::into_inner) = OVER;
    shared.condition.notify_all();
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Woken { sleepers, call_ns: median(calls), latency_ns: median(latencies) }
}

/// The broadcast that ends the threads.
const OVER: u64 = u64::MAX;

impl Broadcast {
    fn first_up(&self) -> u64 {
        loop {
            match self.up.load(Ordering::SeqCst) {
                0 => thread::yield_now(),
                up => return up,
            }
        }
    }
}

fn wait_for_calls(shared: &Broadcast) {
    let mut seen = 0;
    let mut called = shared.called.lock().unwrap_or_else(PoisonError::into_inner);
    while *called != OVER {
        if *called == seen {
            called = shared.condition.wait(called).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        seen = *called;
        // Only the first thread's exchange succeeds.
        let _ = shared.up.compare_exchange(0, host::nanoseconds().max(1), Ordering::SeqCst, Ordering::SeqCst);
    }
}
