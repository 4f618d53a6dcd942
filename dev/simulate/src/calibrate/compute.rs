//! Speed of computing threads that run at the same time.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use super::rounds::{low, median};
use crate::host;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;

const STEPS: u64 = 500_000;
const ROUNDS: usize = 41;

/// Steps a microsecond: the median of `threads` threads that run at the same time.
pub fn speed(threads: usize) -> f64 {
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| rounds(&start))).collect();
        median(running.into_iter().map(|thread| thread.join().unwrap_or_default()).collect())
    })
}

fn rounds(start: &Barrier) -> f64 {
    let round = |_| {
        start.wait();
        let begin = host::nanoseconds();
        black_box((0..STEPS).fold(1_u64, |sum, step| (sum ^ step).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        (host::nanoseconds() - begin).max(1) as f64
    };
    STEPS as f64 * 1000.0 / low((0..ROUNDS).map(round).collect())
}
