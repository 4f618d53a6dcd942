//! The workers' task: sealing the chunks of a batch in place.

use std::sync::Arc;

use packline_engine::{Permit, Task};

use crate::cipher::PayloadKey;
use crate::format::{HEADER, TAG};
use crate::memory::chunks;
use crate::{ChunkSize, Error};

/// Chunks that are sealed as one job. Each has space for its header and its tag.
pub(crate) struct Batch {
    /// Number of the first chunk.
    pub(crate) first: u64,
    /// Space for `chunks` full chunks until it is sealed; then the bytes to write.
    pub(crate) bytes: Vec<u8>,
    /// Bytes of content.
    pub(crate) filled: usize,
    /// Whether the batch's last chunk is the last of the file.
    pub(crate) last: bool,
    pub(crate) _permit: Permit,
}

impl Batch {
    /// Bytes of content that fit.
    pub(crate) fn capacity(chunk: ChunkSize) -> usize {
        chunks(chunk) * chunk.bytes()
    }

    /// Copies as much of `content` as fits. Returns the number of bytes.
    pub(crate) fn fill(&mut self, content: &[u8], chunk: ChunkSize) -> usize {
        let mut taken = 0;
        while taken < content.len() && self.filled < Batch::capacity(chunk) {
            let number = self.filled / chunk.bytes();
            let within = self.filled % chunk.bytes();
            let length = (chunk.bytes() - within).min(content.len() - taken);
            let at = number * chunk.stride() + HEADER + within;
            self.bytes[at..at + length].copy_from_slice(&content[taken..taken + length]);
            taken += length;
            self.filled += length;
        }
        taken
    }
}

pub(crate) struct SealTask {
    pub(crate) key: Arc<PayloadKey>,
    pub(crate) chunk: ChunkSize,
}

impl Task for SealTask {
    type In = Batch;
    type Out = Batch;
    type Error = Error;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), mut batch: Batch) -> Result<Batch, Error> {
        // At least one chunk, because an empty content has one too.
        let chunks = batch.filled.div_ceil(self.chunk.bytes()).max(1);
        batch.bytes.truncate(batch.filled + chunks * (HEADER + TAG));
        let strides = batch.bytes.chunks_mut(self.chunk.stride());
        for (within, chunk) in strides.enumerate() {
            let last = batch.last && within + 1 == chunks;
            self.key.seal(batch.first + within as u64, last, chunk)?;
        }
        Ok(batch)
    }

    fn bytes_in(&self, batch: &Batch) -> u64 {
        batch.filled as u64
    }

    fn bytes_out(&self, batch: &Batch) -> u64 {
        batch.bytes.len() as u64
    }
}
