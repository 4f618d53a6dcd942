//! Buffers for records. The stored bytes or the content are page-aligned, and the head is directly before them, so that one call reads or
//! writes both.

use crate::format::PIECE_HEAD_BYTES;
use crate::{Error, RecordSize};
use packline_codec::{SlabBuffer, Slabs};
use packline_runtime::TaskError;
use std::io;
use std::sync::Arc;

/// Bytes before the content: a page, which ends with the head.
const FRONT: usize = 4096;

/// Buffers for records of one size.
#[derive(Debug, Clone)]
pub(crate) struct RecordPool(Arc<Slabs>);

#[derive(Debug)]
pub(crate) struct RecordBuffer(SlabBuffer);

impl RecordPool {
    /// Returns a pool that keeps up to `window` bytes of unused buffers.
    pub(crate) fn new(record_size: RecordSize, window: usize) -> RecordPool {
        let bytes = RecordPool::bytes(record_size);
        RecordPool(Slabs::new(bytes, window / bytes))
    }

    /// The size of a buffer in bytes.
    pub(crate) fn bytes(record_size: RecordSize) -> usize {
        FRONT + record_size.bytes()
    }

    /// Returns a buffer with unspecified content.
    ///
    /// # Errors
    /// [`Error::Work`] if the system has no memory.
    pub(crate) fn take(&self) -> Result<RecordBuffer, Error> {
        let slab = self.0.take().map_err(|cause| Error::internal(format!("no memory for a record: {cause}")))?;
        Ok(RecordBuffer(slab))
    }
}

impl RecordBuffer {
    /// Returns the first `length` bytes of the content or of the stored bytes; fewer if the buffer is shorter.
    pub(crate) fn content(&self, length: usize) -> &[u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get(FRONT..end).unwrap_or_default()
    }

    pub(crate) fn content_mut(&mut self, length: usize) -> &mut [u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get_mut(FRONT..end).unwrap_or_default()
    }

    /// Returns the head and the `length` bytes after it.
    pub(crate) fn record(&self, length: usize) -> &[u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get(FRONT - PIECE_HEAD_BYTES..end).unwrap_or_default()
    }

    pub(crate) fn record_mut(&mut self, length: usize) -> &mut [u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get_mut(FRONT - PIECE_HEAD_BYTES..end).unwrap_or_default()
    }
}

/// Reads until the buffer is full or the stream ends. Returns the number of bytes read.
///
/// # Errors
/// Returns the error of the stream.
pub(crate) fn fill(stream: &mut dyn io::Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match stream.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
