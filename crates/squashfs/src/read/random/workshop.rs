//! Where blocks are decoded: decoders and buffers, used again by whichever thread needs them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cache::Wanted;
use crate::read::{BlockDecoder, Image, ReadError};

/// A list is as good as any after a panic elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A decoded block. Its buffer goes back to where it came from.
pub(super) struct Decoded {
    bytes: Vec<u8>,
    spare: Arc<Spare>,
}

impl Decoded {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of memory it takes.
    pub(super) fn cost(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
impl Decoded {
    /// A block for tests of the cache alone.
    pub(super) fn of(bytes: Vec<u8>) -> Decoded {
        Decoded { bytes, spare: Arc::new(Spare { size: usize::MAX, keep: 0, buffers: Mutex::default() }) }
    }
}

impl Drop for Decoded {
    fn drop(&mut self) {
        self.spare.put(std::mem::take(&mut self.bytes));
    }
}

/// Buffers of the block size that nobody needs at the moment.
struct Spare {
    size: usize,
    keep: usize,
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl Spare {
    fn take(&self) -> Vec<u8> {
        lock(&self.buffers).pop().unwrap_or_else(|| Vec::with_capacity(self.size))
    }

    fn put(&self, buffer: Vec<u8>) {
        // A buffer of another size is one cut to a small block.
        if buffer.capacity() >= self.size {
            let mut buffers = lock(&self.buffers);
            if buffers.len() < self.keep {
                buffers.push(buffer);
            }
        }
    }
}

/// Decoders and buffers of one image.
pub(super) struct Workshop {
    image: Image,
    decoders: Mutex<Vec<BlockDecoder>>,
    spare: Arc<Spare>,
    decoded: AtomicU64,
}

impl Workshop {
    /// Makes one decoder, to see that it can be done; others come when they are needed. Keeps so many spare buffers.
    pub(super) fn new(image: &Image, keep: usize) -> Result<Workshop, ReadError> {
        let size = image.superblock().block_size as usize;
        let spare = Spare { size, keep, buffers: Mutex::default() };
        Ok(Workshop {
            image: image.clone(),
            decoders: Mutex::new(vec![BlockDecoder::new(image)?]),
            spare: Arc::new(spare),
            decoded: AtomicU64::new(0),
        })
    }

    pub(super) fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }

    pub(super) fn decode(&self, wanted: Wanted) -> Result<Decoded, ReadError> {
        self.decoded.fetch_add(1, Ordering::Relaxed);
        let idle = lock(&self.decoders).pop();
        let mut decoder = idle.map_or_else(|| BlockDecoder::new(&self.image), Ok)?;
        let mut bytes = self.spare.take();
        let outcome = match wanted.length {
            Some(length) => decoder.data(wanted.place, length, &mut bytes),
            None => decoder.fragment(wanted.place, &mut bytes),
        };
        lock(&self.decoders).push(decoder);
        let decoded = Decoded { bytes, spare: Arc::clone(&self.spare) };
        outcome.map(|()| self.trimmed(decoded))
    }

    /// A small block does not keep a large buffer from being used again.
    fn trimmed(&self, decoded: Decoded) -> Decoded {
        if decoded.bytes.len() > self.spare.size / 2 {
            return decoded;
        }
        Decoded { bytes: decoded.bytes.as_slice().to_vec(), spare: Arc::clone(&self.spare) }
    }
}
