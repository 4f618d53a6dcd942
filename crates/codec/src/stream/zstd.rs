//! zstd frames with content size and checksum.

use super::did_not_fit;
use crate::bounded::Compressor;
use crate::zstd::{NAME, bound, encoder, encoder_memory};
use crate::{CodecError, ZstdParams};

/// Twice the window of the library for large inputs (zstd 1.5, lib/compress/clevels.h), at least 4 MiB.
pub(super) fn chunk(level: u32) -> usize {
    match level {
        0..=16 => 4 << 20,
        17..=19 => 16 << 20,
        20 => 64 << 20,
        21 => 128 << 20,
        _ => 256 << 20,
    }
}

pub(super) fn memory(level: u32, chunk: usize) -> usize {
    encoder_memory(&ZstdParams { level: level as i32 }, chunk)
}

pub(super) struct Encoder(Box<dyn Compressor>);

impl Encoder {
    pub(super) fn new(level: u32, chunk: usize) -> Result<Encoder, CodecError> {
        Ok(Encoder(encoder(&ZstdParams { level: level as i32 }, chunk, true)?))
    }

    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut bytes = vec![0; bound(chunk.len())];
        let size = self.0.try_compress(chunk, &mut bytes)?;
        bytes.truncate(size.ok_or_else(|| did_not_fit(NAME, "ZSTD_compress2"))?);
        Ok(bytes)
    }
}
