//! Room for a record: its head and, from a page on, what is stored or its content, so that both are written or read at once.

use std::sync::Arc;

use packline_codec::{SlabBuffer, Slabs};

use crate::format::PIECE_BYTES;
use crate::{Error, RecordSize};

/// Bytes before the content: a page, in whose last bytes is the head.
const FRONT: usize = 4096;

/// Rooms for records of one size.
#[derive(Debug, Clone)]
pub(crate) struct Rooms(Arc<Slabs>);

/// Room for one record.
#[derive(Debug)]
pub(crate) struct Room(SlabBuffer);

impl Rooms {
    /// Rooms of which those that are not in use keep up to `window` bytes.
    pub(crate) fn new(record_size: RecordSize, window: usize) -> Rooms {
        let bytes = Rooms::bytes(record_size);
        Rooms(Slabs::new(bytes, window / bytes))
    }

    /// Bytes of one.
    pub(crate) fn bytes(record_size: RecordSize) -> usize {
        FRONT + record_size.bytes()
    }

    /// Room for one record; what is in it is not said.
    ///
    /// # Errors
    /// [`Error::Internal`] if the system has no memory.
    pub(crate) fn take(&self) -> Result<Room, Error> {
        let slab = self.0.take().map_err(|cause| Error::Internal(format!("no memory for a record: {cause}")))?;
        Ok(Room(slab))
    }
}

impl Room {
    /// The first so many bytes of the content, or of what is stored; fewer if there is less room.
    pub(crate) fn content(&self, length: usize) -> &[u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get(FRONT..end).unwrap_or_default()
    }

    /// The same, to be written.
    pub(crate) fn content_mut(&mut self, length: usize) -> &mut [u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get_mut(FRONT..end).unwrap_or_default()
    }

    /// The head and as many bytes behind it.
    pub(crate) fn record(&self, length: usize) -> &[u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get(FRONT - PIECE_BYTES..end).unwrap_or_default()
    }

    /// The same, to be written.
    pub(crate) fn record_mut(&mut self, length: usize) -> &mut [u8] {
        let end = self.0.len().min(FRONT + length);
        self.0.get_mut(FRONT - PIECE_BYTES..end).unwrap_or_default()
    }
}
