//! Members of gzip, zstd and bzip2: gzip members by libdeflate, zstd frames with content size and checksum, and bzip2 streams of one block
//! each.

use bzip2::{Action, Compress, Compression, Status};

use super::did_not_fit;
use crate::bzip2::{LEVEL_BYTES, WORK_FACTOR};
use crate::gzip::{self, Deflater, gzip_bound};
use crate::traits::Compressor;
use crate::zstd::{self, bound, encoder, encoder_memory};
use crate::{CodecError, ZstdParams};

pub(super) struct GzipEncoder(Deflater);

impl GzipEncoder {
    pub(super) fn new(level: u32) -> Result<GzipEncoder, CodecError> {
        Deflater::new(level).map(GzipEncoder)
    }

    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut bytes = vec![0; gzip_bound(chunk.len())];
        let size = self.0.gzip(chunk, &mut bytes);
        bytes.truncate(size.ok_or_else(|| did_not_fit(gzip::NAME, "libdeflate_gzip_compress"))?);
        Ok(bytes)
    }
}

/// Twice the window of the library for large inputs (zstd 1.5, lib/compress/clevels.h), at least 4 MiB.
pub(super) fn zstd_chunk(level: u32) -> usize {
    match level {
        0..=16 => 4 << 20,
        17..=19 => 16 << 20,
        20 => 64 << 20,
        21 => 128 << 20,
        _ => 256 << 20,
    }
}

pub(super) fn zstd_memory(level: u32, chunk: usize) -> usize {
    encoder_memory(&ZstdParams { level: level as i32 }, chunk)
}

pub(super) struct ZstdEncoder(Box<dyn Compressor>);

impl ZstdEncoder {
    pub(super) fn new(level: u32, chunk: usize) -> Result<ZstdEncoder, CodecError> {
        Ok(ZstdEncoder(encoder(&ZstdParams { level: level as i32 }, chunk, true)?))
    }

    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut bytes = vec![0; bound(chunk.len())];
        let size = self.0.try_compress(chunk, &mut bytes)?;
        bytes.truncate(size.ok_or_else(|| did_not_fit(zstd::NAME, "ZSTD_compress2"))?);
        Ok(bytes)
    }
}

/// Slightly less than a block, which holds 100,000 bytes per level less 19, after runs of four bytes became five.
pub(super) fn bzip2_chunk(level: u32) -> usize {
    level as usize * LEVEL_BYTES - 100
}

pub(super) struct Bzip2Encoder {
    level: u32,
}

impl Bzip2Encoder {
    pub(super) fn new(level: u32) -> Bzip2Encoder {
        Bzip2Encoder { level }
    }

    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, CodecError> {
        let limit = bzip2_chunk(self.level);
        if chunk.len() > limit {
            return Err(CodecError::BlockTooLarge { found: chunk.len(), limit });
        }
        // One percent and 600 bytes more are enough for any data (bzip2 manual, "BZ2_bzBuffToBuffCompress").
        let mut bytes = Vec::with_capacity(chunk.len() + chunk.len() / 100 + 600);
        let mut coder = Compress::new(Compression::new(self.level), WORK_FACTOR);
        let mut taken = 0;
        loop {
            let status = coder.compress_vec(&chunk[taken..], &mut bytes, Action::Finish);
            taken = coder.total_in() as usize;
            match status {
                Ok(Status::StreamEnd) => return Ok(bytes),
                Ok(_) if bytes.len() < bytes.capacity() => {}
                _ => return Err(did_not_fit(crate::bzip2::NAME, "BZ2_bzCompress")),
            }
        }
    }
}
