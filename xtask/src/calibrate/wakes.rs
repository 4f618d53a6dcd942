//! Sleepers woken: what it costs the one who wakes, and when the first of them runs.

use super::calibration::Woken;
use super::rounds::median;
use crate::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Wake-ups measured for each number of sleepers.
const WAKES: usize = 60;
/// How long all get to fall asleep again between two.
const REST: Duration = Duration::from_micros(300);

/// One thread's bed.
#[derive(Debug, Default)]
struct Bed {
    /// Set by who wakes, taken back by who sleeps.
    called: AtomicBool,
    /// When it woke up, nanoseconds; 0 while it sleeps.
    up: AtomicU64,
}

/// Wakes one of `sleepers` parked threads, each in turn.
pub fn one(sleepers: usize) -> Woken {
    let over = Arc::new(AtomicBool::new(false));
    let beds: Vec<Arc<Bed>> = (0..sleepers).map(|_| Arc::default()).collect();
    let sleep = |bed: &Arc<Bed>| {
        let (bed, over) = (Arc::clone(bed), Arc::clone(&over));
        thread::spawn(move || doze(&bed, &over))
    };
    let threads: Vec<_> = beds.iter().map(sleep).collect();
    let (mut calls, mut latencies) = (Vec::new(), Vec::new());
    for wake in 0..WAKES {
        thread::sleep(REST);
        let (bed, thread) = (&beds[wake % sleepers], threads[wake % sleepers].thread());
        let begin = clock::nanoseconds();
        bed.called.store(true, Ordering::SeqCst);
        thread.unpark();
        let called = clock::nanoseconds();
        calls.push((called - begin) as f64);
        latencies.push(first_up(&beds[wake % sleepers..=wake % sleepers]).saturating_sub(called) as f64);
    }
    over.store(true, Ordering::SeqCst);
    for thread in threads {
        thread.thread().unpark();
        // It cannot have panicked; if it did, there is nothing of it to use.
        let _ = thread.join();
    }
    Woken { sleepers, call_ns: median(calls), latency_ns: median(latencies) }
}

fn doze(bed: &Bed, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        thread::park();
        if bed.called.swap(false, Ordering::SeqCst) {
            bed.up.store(clock::nanoseconds(), Ordering::SeqCst);
        }
    }
}

/// When the first of these woke up; they are asleep again after.
fn first_up(beds: &[Arc<Bed>]) -> u64 {
    loop {
        let up = beds.iter().map(|bed| bed.up.swap(0, Ordering::SeqCst)).filter(|&up| up > 0).min();
        match up {
            Some(up) => return up,
            None => thread::yield_now(),
        }
    }
}

/// What all who wait share.
#[derive(Debug, Default)]
struct Dormitory {
    /// Counts the calls.
    called: Mutex<u64>,
    bell: Condvar,
    /// When the first woke up at this call; 0 before.
    up: AtomicU64,
}

/// Wakes all of `sleepers` threads at once.
pub fn all(sleepers: usize) -> Woken {
    let room = Arc::new(Dormitory::default());
    let sleep = |_| {
        let room = Arc::clone(&room);
        thread::spawn(move || lie(&room))
    };
    let threads: Vec<_> = (0..sleepers).map(sleep).collect();
    let (mut calls, mut latencies) = (Vec::new(), Vec::new());
    for _ in 0..WAKES {
        thread::sleep(REST);
        room.up.store(0, Ordering::SeqCst);
        *room.called.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let begin = clock::nanoseconds();
        room.bell.notify_all();
        let called = clock::nanoseconds();
        calls.push((called - begin) as f64);
        latencies.push(room.first_up().saturating_sub(called) as f64);
    }
    *room.called.lock().unwrap_or_else(PoisonError::into_inner) = OVER;
    room.bell.notify_all();
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Woken { sleepers, call_ns: median(calls), latency_ns: median(latencies) }
}

/// The call that ends it.
const OVER: u64 = u64::MAX;

impl Dormitory {
    fn first_up(&self) -> u64 {
        loop {
            match self.up.load(Ordering::SeqCst) {
                0 => thread::yield_now(),
                up => return up,
            }
        }
    }
}

fn lie(room: &Dormitory) {
    let mut heard = 0;
    let mut called = room.called.lock().unwrap_or_else(PoisonError::into_inner);
    while *called != OVER {
        if *called == heard {
            called = room.bell.wait(called).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        heard = *called;
        // The first is enough; it fails for all others.
        let _ = room.up.compare_exchange(0, clock::nanoseconds().max(1), Ordering::SeqCst, Ordering::SeqCst);
    }
}
