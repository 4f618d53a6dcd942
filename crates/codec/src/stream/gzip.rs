//! gzip members by libdeflate.

use super::did_not_fit;
use crate::CodecError;
use crate::gzip::{Deflater, NAME, gzip_bound};

pub(super) struct Encoder(Deflater);

impl Encoder {
    pub(super) fn new(level: u32) -> Result<Encoder, CodecError> {
        Deflater::new(level).map(Encoder)
    }

    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut bytes = vec![0; gzip_bound(chunk.len())];
        let size = self.0.gzip(chunk, &mut bytes);
        bytes.truncate(size.ok_or_else(|| did_not_fit(NAME, "libdeflate_gzip_compress"))?);
        Ok(bytes)
    }
}
