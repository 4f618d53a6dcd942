//! Where blocks are decoded: decoders and buffers, used again by whichever thread needs them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_codec::{SlabBuffer, Slabs};

use super::cache::Wanted;
use crate::read::{BlockDecoder, Image, ReadError};

/// A list is as good as any after a panic elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A decoded block.
pub(super) enum Decoded {
    /// So many bytes in a buffer, which goes back to where it came from.
    Large(SlabBuffer, usize),
    /// A small block does not keep a large buffer from being used again.
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
    decoded: AtomicU64,
}

impl DecoderPool {
    /// Makes one decoder, to see that it can be done; others come when they are needed.
    pub(super) fn new(image: &Image, buffers: Arc<Slabs>) -> Result<DecoderPool, ReadError> {
        Ok(DecoderPool {
            image: image.clone(),
            decoders: Mutex::new(vec![BlockDecoder::new(image)?]),
            buffers,
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
        let outcome = self.make(&mut decoder, wanted);
        lock(&self.decoders).push(decoder);
        outcome
    }

    fn make(&self, decoder: &mut BlockDecoder, wanted: Wanted) -> Result<Decoded, ReadError> {
        let buffer = self.buffers.take();
        let mut buffer = buffer.map_err(|cause| ReadError::Internal(format!("no memory for a block: {cause}")))?;
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
