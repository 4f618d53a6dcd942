//! Threads that run at the same time: the speed of computing, and the bandwidth of copying memory.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use super::rounds::{low, median};
use crate::host;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;

const STEPS: u64 = 500_000;
const COMPUTE_ROUNDS: usize = 41;

/// Steps a microsecond: the median of `threads` threads that run at the same time.
pub fn speed(threads: usize) -> f64 {
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| steps(&start))).collect();
        median(running.into_iter().map(|thread| thread.join().unwrap_or_default()).collect())
    })
}

/// One thread's steps a microsecond; all threads begin each round together.
fn steps(start: &Barrier) -> f64 {
    let round = |_| {
        start.wait();
        let begin = host::nanoseconds();
        black_box((0..STEPS).fold(1_u64, |sum, step| (sum ^ step).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        (host::nanoseconds() - begin).max(1) as f64
    };
    STEPS as f64 * 1000.0 / low((0..COMPUTE_ROUNDS).map(round).collect())
}

/// Larger than a core's own caches.
const BYTES: usize = 8 << 20;
const COPY_ROUNDS: usize = 21;

/// Total GB/s of `threads` threads.
pub fn bandwidth(threads: usize) -> f64 {
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| rate(&start))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
    })
}

/// One thread's GB/s; all threads begin each round together.
fn rate(start: &Barrier) -> f64 {
    let source = vec![1_u8; BYTES];
    let mut target = vec![0_u8; BYTES];
    let mut round = || {
        start.wait();
        let begin = host::nanoseconds();
        target.copy_from_slice(black_box(&source));
        black_box(&mut target);
        (host::nanoseconds() - begin).max(1) as f64
    };
    BYTES as f64 / low((0..COPY_ROUNDS).map(|_| round()).collect())
}
