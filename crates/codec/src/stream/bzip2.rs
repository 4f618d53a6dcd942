//! bzip2 streams of one block each.

use bzip2::{Action, Compress, Compression, Status};

use super::did_not_fit;
use crate::CodecError;
use crate::bzip2::{LEVEL_BYTES, NAME, WORK_FACTOR};

/// Slightly less than a block, which holds 100,000 bytes per level less 19, after runs of four bytes became five.
pub(super) fn chunk(level: u32) -> usize {
    level as usize * LEVEL_BYTES - 100
}

pub(super) struct Encoder {
    level: u32,
}

impl Encoder {
    pub(super) fn new(level: u32) -> Encoder {
        Encoder { level }
    }

    pub(super) fn encode(&mut self, chunk: &[u8]) -> Result<Vec<u8>, CodecError> {
        let limit = self::chunk(self.level);
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
                _ => return Err(did_not_fit(NAME, "BZ2_bzCompress")),
            }
        }
    }
}
