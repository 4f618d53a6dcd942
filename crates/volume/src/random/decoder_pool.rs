//! Decoders and buffers for blocks, reused by all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_codec::{SlabBuffer, Slabs};
use packline_runtime::{Spares, TaskError};

use super::cache::UnitKey;
use crate::{ReadError, SharedVolume, UnitDecoder, check_length};

/// Locks. The guarded state is consistent even if a thread panicked.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) enum Decoded {
    /// A buffer, which returns to its pool when dropped, and the bytes used in it.
    Large(SlabBuffer, usize),
    /// A small block, so that it does not occupy a large buffer.
    Small(Vec<u8>),
}

impl Decoded {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Decoded::Large(buffer, length) => &buffer[..*length],
            Decoded::Small(bytes) => bytes,
        }
    }

    /// Memory in bytes.
    pub(super) fn cost(&self) -> usize {
        match self {
            Decoded::Large(buffer, _) => buffer.len(),
            Decoded::Small(bytes) => bytes.capacity(),
        }
    }
}

/// Decoders and buffers of one volume.
pub(super) struct DecoderPool {
    volume: SharedVolume,
    decoders: Spares<Box<dyn UnitDecoder>>,
    buffers: Arc<Slabs>,
    /// Blocks decoded so far; read by tests.
    pub(super) decoded: AtomicU64,
}

impl DecoderPool {
    /// Creates one decoder, to report an error early. Other decoders are created on demand.
    pub(super) fn new(volume: &SharedVolume, buffers: Arc<Slabs>) -> Result<DecoderPool, ReadError> {
        let decoders = Spares::default();
        decoders.give(volume.decoder()?);
        Ok(DecoderPool { volume: SharedVolume::clone(volume), decoders, buffers, decoded: AtomicU64::new(0) })
    }

    pub(super) fn decode(&self, wanted: UnitKey) -> Result<Decoded, ReadError> {
        self.decoded.fetch_add(1, Ordering::Relaxed);
        let mut decoder = self.decoders.take().map_or_else(|| self.volume.decoder(), Ok)?;
        let outcome = self.make(decoder.as_mut(), wanted);
        self.decoders.give(decoder);
        outcome
    }

    fn make(&self, decoder: &mut dyn UnitDecoder, wanted: UnitKey) -> Result<Decoded, ReadError> {
        let most = wanted.unit.length as usize;
        if most <= self.volume.facts().largest_unit as usize / 2 {
            let mut bytes = Vec::new();
            if wanted.exact {
                decoder.own(wanted.unit, &mut bytes)?
            } else {
                decoder.shared(wanted.unit, &mut bytes)?
            }
            return Ok(Decoded::Small(bytes));
        }
        let buffer = self.buffers.take();
        let mut buffer = buffer.map_err(|cause| ReadError::internal(format!("no memory for a block: {cause}")))?;
        let length = decoder.decode(wanted.unit, &mut buffer[..most])?;
        if wanted.exact {
            check_length(wanted.unit, length, most)?;
        }
        if length > buffer.len() / 2 {
            return Ok(Decoded::Large(buffer, length));
        }
        Ok(Decoded::Small(buffer[..length].to_vec()))
    }
}
