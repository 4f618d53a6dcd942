//! Sealing of a stream that is written from start to end.

mod batch;
mod sink;

use std::sync::Arc;

pub(crate) use batch::{Batch, SealTask};
pub use sink::SealingSink;

use crate::cipher::{FileKey, PayloadKey};
use crate::format::Head;
use crate::{ChunkSize, Error, OpenedHead, Recipients};

/// A head, and the key of the chunks after it. It seals one content; with two, chunks of both would share nonces.
pub struct Sealing {
    head: Vec<u8>,
    key: Arc<PayloadKey>,
    chunk: ChunkSize,
    pads: bool,
}

impl std::fmt::Debug for Sealing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealing").field("chunk", &self.chunk).finish_non_exhaustive()
    }
}

impl Sealing {
    /// A new random key, wrapped for the recipients. `limit` is the memory limit of the process.
    ///
    /// # Errors
    /// [`Error::Key`] if there are no recipients or too many; [`Error::Memory`] for passphrases; [`Error::Randomness`].
    pub fn new(recipients: &Recipients, chunk: ChunkSize, limit: Option<u64>) -> Result<Sealing, Error> {
        let key = FileKey::random()?;
        let wraps = recipients.wrap(&key, limit)?;
        Sealing::with(&key, &wraps, chunk, recipients.padded)
    }

    /// A given key and wraps, for tests of determinism. The key must seal nothing else.
    ///
    /// # Errors
    /// [`Error::Key`] if there are too many wraps.
    #[doc(hidden)]
    pub fn for_tests(key: [u8; 32], wraps: &[Vec<u8>], chunk: ChunkSize, padded: bool) -> Result<Sealing, Error> {
        let key = FileKey::from_bytes(&key).ok_or_else(|| Error::key("no key", "32 bytes"))?;
        Sealing::with(&key, wraps, chunk, padded)
    }

    /// The sealed bytes already have their padding, for tests of malformed padding.
    #[doc(hidden)]
    #[must_use]
    pub fn with_given_padding(mut self) -> Sealing {
        self.pads = false;
        self
    }

    /// The head as the reader of a recipient opens it, for reading back what was written.
    pub fn opened(&self) -> OpenedHead {
        OpenedHead::new(Arc::clone(&self.key), self.chunk, self.head.len() as u64, self.pads)
    }

    fn with(key: &FileKey, wraps: &[Vec<u8>], chunk: ChunkSize, pads: bool) -> Result<Sealing, Error> {
        let mut head = Head::bound(chunk, pads, wraps)?;
        let payload = Arc::new(key.payload(&head));
        let check = key.check(&head);
        head.extend_from_slice(&check);
        Ok(Sealing { head, key: payload, chunk, pads })
    }
}
