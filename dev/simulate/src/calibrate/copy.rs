//! Bandwidth of several threads that copy memory.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use super::rounds::low;
use crate::host;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;

/// Larger than a core's own caches.
const BYTES: usize = 8 << 20;
const ROUNDS: usize = 21;

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
    BYTES as f64 / low((0..ROUNDS).map(|_| round()).collect())
}
