//! Reused buffers of a budget: a fresh one costs a page fault every 4 KiB.
//!
//! These are not the slabs of `packline_codec`: many are filled in part only, and the pages of the rest are never touched.

use std::sync::Arc;

use packline_engine::Permit;

use crate::Spares;

/// A buffer that returns to its [`Buffers`], and its memory to the budget, when dropped.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
    permit: Permit,
}

impl Buffer {
    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All of it, to be filled.
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
        self.home.spares.give(std::mem::take(&mut self.bytes));
    }
}

/// Buffers of one size.
#[derive(Debug)]
pub struct Buffers {
    size: usize,
    spares: Spares<Vec<u8>>,
}

impl Buffers {
    /// Buffers of `size` bytes, of which at most a quarter of `budget` bytes, but at least two, are kept for reuse.
    pub fn new(size: usize, budget: usize) -> Arc<Buffers> {
        Arc::new(Buffers { size, spares: Spares::up_to((budget / 4 / size).clamp(2, 64)) })
    }

    /// Bytes of each.
    pub fn buffer_size(&self) -> usize {
        self.size
    }

    /// A buffer with unspecified content, covered by `permit`.
    pub fn take(self: &Arc<Buffers>, permit: Permit) -> Buffer {
        let bytes = self.spares.take().unwrap_or_else(|| vec![0; self.size]);
        Buffer { bytes, home: Arc::clone(self), permit }
    }
}
