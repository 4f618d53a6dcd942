//! Opening of sealed files: at any offset, or from start to end.

mod chunk_stream;
mod damage;
mod input;
mod opened;
mod plain_stream;

use std::io::Read;
use std::sync::Arc;

use packline_runtime::{Input, InputStream};

pub use damage::Damage;
pub use input::PlainInput;
pub(crate) use input::RECENT;
pub use opened::OpenedHead;
pub use plain_stream::PlainStream;

use crate::format::Head;
use crate::keys::unwrap;
use crate::{ChunkSize, Error, Identities, MadeFor, Part};

/// The head of a sealed file, read without a key.
pub struct SealedHead(Head);

impl SealedHead {
    /// Reads the head from the start of a file, and nothing after it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the head is malformed; [`Error::Unsupported`] for an unknown version or flag; [`Error::Input`].
    pub fn read(input: &mut dyn Read) -> Result<SealedHead, Error> {
        Head::read(input).map(SealedHead)
    }

    /// As [`SealedHead::read`], from an input.
    ///
    /// # Errors
    /// As [`SealedHead::read`].
    pub fn of(input: &Arc<dyn Input>) -> Result<SealedHead, Error> {
        SealedHead::read(&mut InputStream::new(&**input, 0))
    }

    /// The recipients of the file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a wrap is malformed.
    pub fn made_for(&self) -> Result<MadeFor, Error> {
        self.0.made_for()
    }

    /// Bytes of content per chunk.
    pub fn chunk_size(&self) -> ChunkSize {
        self.0.chunk
    }

    /// Whether padding hides the size of the content.
    pub fn is_padded(&self) -> bool {
        self.0.padded
    }

    /// Bytes before the first chunk.
    pub fn length(&self) -> u64 {
        self.0.length()
    }

    /// Opens the head with the first identity that is one of its recipients. `limit` is the memory limit of the process.
    ///
    /// # Errors
    /// [`Error::NoKey`], [`Error::WrongKey`] and [`Error::WrongPassphrase`]; [`Error::Corrupt`] if the key was wrapped in another head;
    /// [`Error::WorkFactor`] and [`Error::Memory`] for passphrases.
    pub fn open(self, identities: &Identities, limit: Option<u64>) -> Result<OpenedHead, Error> {
        let key = unwrap(&self.0, identities, limit)?;
        if !key.is_checked_by(&self.0.bound, self.0.key_check) {
            let what = "it does not belong to this key";
            return Err(Error::corrupt(Part::Head, 0, what, "the unchanged head"));
        }
        let chunk = self.0.chunk;
        let start = self.0.length();
        let padded = self.0.padded;
        Ok(OpenedHead { key: Arc::new(key.payload(&self.0.bound)), chunk, start, padded, damage: None })
    }
}
