//! Buffers for a record: the head, then, page-aligned, the stored bytes or the content, so that one call writes or reads both.

use std::sync::Arc;

use packline_codec::{SlabBuffer, Slabs};
use packline_runtime::TaskError;

use crate::format::PIECE_BYTES;
use crate::{Error, RecordSize};

/// Bytes before the content: a page, at whose end the header is.
const FRONT: usize = 4096;

/// Buffers for records of one size.
#[derive(Debug, Clone)]
pub(crate) struct RecordPool(Arc<Slabs>);

#[derive(Debug)]
pub(crate) struct RecordBuffer(SlabBuffer);

impl RecordPool {
    /// Unused buffers keep up to `window` bytes.
    pub(crate) fn new(record_size: RecordSize, window: usize) -> RecordPool {
        let bytes = RecordPool::bytes(record_size);
        RecordPool(Slabs::new(bytes, window / bytes))
    }

    /// Bytes of a buffer.
    pub(crate) fn bytes(record_size: RecordSize) -> usize {
        FRONT + record_size.bytes()
    }

    /// A buffer with unspecified content.
    ///
    /// # Errors
    /// [`Error::Work`] if the system has no memory.
    pub(crate) fn take(&self) -> Result<RecordBuffer, Error> {
        let slab = self.0.take().map_err(|cause| Error::internal(format!("no memory for a record: {cause}")))?;
        Ok(RecordBuffer(slab))
    }
}

impl RecordBuffer {
    /// The first `length` bytes of the content or of the stored bytes; fewer if the buffer is shorter.
    pub(crate) fn content(&self, length: usize) -> &[u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get(FRONT..end).unwrap_or_default()
    }

    pub(crate) fn content_mut(&mut self, length: usize) -> &mut [u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get_mut(FRONT..end).unwrap_or_default()
    }

    /// The head and the `length` bytes after it.
    pub(crate) fn record(&self, length: usize) -> &[u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get(FRONT - PIECE_BYTES..end).unwrap_or_default()
    }

    pub(crate) fn record_mut(&mut self, length: usize) -> &mut [u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get_mut(FRONT - PIECE_BYTES..end).unwrap_or_default()
    }
}
