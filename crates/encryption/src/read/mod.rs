//! Opening of sealed files: at any offset, or from front to back.

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
    /// Reads the head from the start of a file. Nothing behind it is read.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unsupported`], [`Error::Input`].
    pub fn read(input: &mut dyn Read) -> Result<SealedHead, Error> {
        Head::read(input).map(SealedHead)
    }

    /// As [`SealedHead::read`], of an input.
    ///
    /// # Errors
    /// As [`SealedHead::read`].
    pub fn of(input: &Arc<dyn Input>) -> Result<SealedHead, Error> {
        SealedHead::read(&mut InputStream::new(&**input, 0))
    }

    /// For whom the file was encrypted.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a wrap that is malformed.
    pub fn made_for(&self) -> Result<MadeFor, Error> {
        self.0.made_for()
    }

    /// Bytes of content of a chunk.
    pub fn chunk_size(&self) -> ChunkSize {
        self.0.chunk
    }

    /// Whether the size of its content is hidden by padding.
    pub fn is_padded(&self) -> bool {
        self.0.padded
    }

    /// Bytes before the first chunk.
    pub fn length(&self) -> u64 {
        self.0.length()
    }

    /// Opens the head by the first identity that is one of its recipients. `limit` is that of the process's memory.
    ///
    /// # Errors
    /// [`Error::NoKey`], [`Error::WrongKey`] and [`Error::WrongPassphrase`]; [`Error::Corrupt`] if the head is not that which the key was wrapped in;
    /// [`Error::WorkFactor`] and [`Error::Memory`] for passphrases.
    pub fn open(self, identities: &Identities, limit: Option<u64>) -> Result<OpenedHead, Error> {
        let key = unwrap(&self.0, identities, limit)?;
        if !key.is_checked_by(&self.0.bound, self.0.key_check) {
            let what = "it is not the one that this key was made for";
            return Err(Error::corrupt(Part::Head, 0, what, "the head as it was written"));
        }
        let chunk = self.0.chunk;
        let start = self.0.length();
        let padded = self.0.padded;
        Ok(OpenedHead { key: Arc::new(key.payload(&self.0.bound)), chunk, start, padded, damage: None })
    }
}
