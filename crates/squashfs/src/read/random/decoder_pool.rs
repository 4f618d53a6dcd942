//! Decoders and buffers for blocks, reused by all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_codec::{SlabBuffer, Slabs};
use packline_runtime::TaskError;

use super::cache::Wanted;
use crate::read::{BlockDecoder, Image, ReadError};

/// Locks. A panic elsewhere leaves what these locks guard in a consistent state.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) enum Decoded {
    /// A buffer, which returns to its pool when dropped, and the bytes used in it.
    Large(SlabBuffer, usize),
    /// A copy of a small block, so that it does not occupy a large buffer.
    Small(Vec<u8>),
}

impl Decoded {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Decoded::Large(buffer, length) => &buffer[..*length],
            Decoded::Small(bytes) => bytes,
        }
    }

    /// Bytes of memory it takes.
    pub(super) fn cost(&self) -> usize {
        match self {
            Decoded::Large(buffer, _) => buffer.len(),
            Decoded::Small(bytes) => bytes.capacity(),
        }
    }
}

/// Decoders and buffers of one image.
pub(super) struct DecoderPool {
    image: Image,
    decoders: Mutex<Vec<BlockDecoder>>,
    buffers: Arc<Slabs>,
    /// Blocks decoded so far; read by tests.
    pub(super) decoded: AtomicU64,
}

impl DecoderPool {
    /// Makes one decoder, to report an error early; others are made on demand.
    pub(super) fn new(image: &Image, buffers: Arc<Slabs>) -> Result<DecoderPool, ReadError> {
        Ok(DecoderPool {
            image: image.clone(),
            decoders: Mutex::new(vec![BlockDecoder::new(image)?]),
            buffers,
            decoded: AtomicU64::new(0),
        })
    }

    pub(super) fn decode(&self, wanted: Wanted) -> Result<Decoded, ReadError> {
        self.decoded.fetch_add(1, Ordering::Relaxed);
        let idle = lock(&self.decoders).pop();
        let mut decoder = idle.map_or_else(|| BlockDecoder::new(&self.image), Ok)?;
        let outcome = self.make(&mut decoder, wanted);
        lock(&self.decoders).push(decoder);
        outcome
    }

    fn make(&self, decoder: &mut BlockDecoder, wanted: Wanted) -> Result<Decoded, ReadError> {
        let buffer = self.buffers.take();
        let mut buffer = buffer.map_err(|cause| ReadError::internal(format!("no memory for a block: {cause}")))?;
        let length = match wanted.length {
            Some(length) => {
                decoder.data_into(wanted.place, &mut buffer[..length as usize]).map(|()| length as usize)?
            }
            None => decoder.fragment_into(wanted.place, &mut buffer)?,
        };
        if length > buffer.len() / 2 {
            return Ok(Decoded::Large(buffer, length));
        }
        Ok(Decoded::Small(buffer[..length].to_vec()))
    }
}
