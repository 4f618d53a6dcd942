//! Buffers, decoders and other tools that are kept for reuse because making them is expensive: a new buffer costs a page fault
//! every 4 KiB.
//!
//! A [`Buffer`] is not a slab of `packline_codec`: most buffers are only partly filled, and the remaining pages are never touched.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_engine::Permit;

/// A buffer that returns to its [`Buffers`] when dropped, and then returns its memory to the budget.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
    permit: Permit,
}

impl Buffer {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Adds a permit for more of the buffer's bytes.
    pub fn add_permit(&mut self, permit: Permit) {
        self.permit.merge(permit);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.home.spares.give(std::mem::take(&mut self.bytes));
    }
}

/// A range of a buffer that several threads read.
#[derive(Debug, Clone)]
pub struct SharedBytes {
    pub buffer: Arc<Buffer>,
    pub range: Range<usize>,
}

impl SharedBytes {
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.bytes[self.range.clone()]
    }
}

/// Buffers of one size.
#[derive(Debug)]
pub struct Buffers {
    size: usize,
    spares: Spares<Vec<u8>>,
}

impl Buffers {
    /// Buffers of `size` bytes, of which at most an eighth of `budget` bytes, but at least two, are kept for reuse.
    pub fn new(size: usize, budget: usize) -> Arc<Buffers> {
        Arc::new(Buffers { size, spares: Spares::up_to((budget / 8 / size).max(2)) })
    }

    pub fn buffer_size(&self) -> usize {
        self.size
    }

    /// A buffer with unspecified content, covered by `permit`.
    pub fn take(self: &Arc<Buffers>, permit: Permit) -> Buffer {
        let bytes = self.spares.take().unwrap_or_else(|| vec![0; self.size]);
        Buffer { bytes, home: Arc::clone(self), permit }
    }
}

/// Tools that no thread uses at the moment. The tool that was returned last is taken first: it may still be in a processor's cache.
#[derive(Debug)]
pub struct Spares<T> {
    most: usize,
    free: Mutex<Vec<T>>,
}

impl<T> Spares<T> {
    /// Keeps at most `most` tools.
    pub fn up_to(most: usize) -> Spares<T> {
        Spares { most, free: Mutex::new(Vec::new()) }
    }

    /// The tool that was returned last.
    pub fn take(&self) -> Option<T> {
        self.lock().pop()
    }

    /// Keeps a tool, or drops it if the limit is reached.
    pub fn give(&self, spare: T) {
        let mut free = self.lock();
        if free.len() < self.most {
            free.push(spare);
        }
    }

    /// The list is consistent even after a panic in another thread.
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Spares<T> {
    /// Keeps all tools.
    fn default() -> Spares<T> {
        Spares::up_to(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Spares;

    #[test]
    fn keeps_at_most_the_limit_and_takes_the_last_returned_first() {
        let spares = Spares::up_to(2);
        (1..=3).for_each(|number| spares.give(number));
        assert_eq!([spares.take(), spares.take(), spares.take()], [Some(2), Some(1), None]);
    }
}
