//! Decompresses whole blocks.

use super::NAME;
use super::fault::Fault;
use super::reader::ZpaqReader;
use crate::{CodecError, Decoder};

/// Decompresses ZPAQ streams, as [`ZpaqReader`] does.
pub struct ZpaqDecoder {
    memory: usize,
}

impl ZpaqDecoder {
    /// A decoder whose models use at most `memory` bytes during a call.
    pub fn new(memory: usize) -> Self {
        ZpaqDecoder { memory }
    }
}

impl Decoder for ZpaqDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let mut reader = ZpaqReader::new(src, self.memory);
        let codec = |fault: Fault| fault.into_codec(src.len() as u64, self.memory as u64);
        let size = reader.fill(dst).map_err(codec)?;
        // Nothing may follow, and the end must be valid.
        match reader.fill(&mut [0]).map_err(codec)? {
            0 => Ok(size),
            _ => Err(CodecError::TooLong { codec: NAME, size: src.len(), capacity: dst.len() }),
        }
    }
}
