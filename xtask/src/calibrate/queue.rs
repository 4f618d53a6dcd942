//! A queue under a lock that nobody else wants.

use super::rounds;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

/// Jobs in the queue meanwhile: about a full window.
const JOBS: u64 = 256;
const STEPS: usize = 20_000;

/// Taking the lock, pushing or popping a job by its place, giving the lock back: nanoseconds.
pub fn lock() -> f64 {
    let queue = Mutex::new((0..JOBS).map(Reverse).collect::<BinaryHeap<_>>());
    let both = rounds::each(STEPS, |step| {
        let locked = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        locked().push(Reverse(JOBS + step as u64));
        black_box(locked().pop());
    });
    both / 2.0
}
