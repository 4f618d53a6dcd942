//! A queue under an uncontended lock.

use super::rounds;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

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
