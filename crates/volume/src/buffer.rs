//! Reused buffers: a fresh one costs a page fault every 4 KiB.

use std::sync::{Arc, Mutex, PoisonError};

use packline_engine::Permit;

/// A buffer that returns to its pool, and its memory to the budget, when dropped.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    pool: Arc<Pool>,
    permit: Permit,
}

impl Buffer {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Adds a permit for more of its bytes.
    pub fn add_permit(&mut self, permit: Permit) {
        self.permit.merge(permit);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.bytes));
    }
}

/// Caches buffers of one size for reuse.
#[derive(Debug)]
pub struct Pool {
    size: usize,
    keep: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Pool {
    /// A pool of buffers of `size` bytes that caches at most a quarter of `budget` bytes, but at least two buffers.
    pub fn new(size: usize, budget: usize) -> Arc<Pool> {
        let keep = (budget / 4 / size).clamp(2, 64);
        Arc::new(Pool { size, keep, free: Mutex::new(Vec::new()) })
    }

    pub fn buffer_size(&self) -> usize {
        self.size
    }

    /// A buffer with unspecified content, covered by `permit`.
    pub fn take(self: &Arc<Pool>, permit: Permit) -> Buffer {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = free.unwrap_or_else(|| vec![0; self.size]);
        Buffer { bytes, pool: Arc::clone(self), permit }
    }

    fn put(&self, bytes: Vec<u8>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < self.keep {
            free.push(bytes);
        }
    }
}
