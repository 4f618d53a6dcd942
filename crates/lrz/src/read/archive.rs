//! An open .lrz file.

use std::sync::Arc;

use super::bytes::Bytes;
use super::info::Chunks;
use super::{Blocks, ChunkInfo, ReadOptions, Unpacked};
use crate::format::{Dialect, Magic, ambiguous};
use crate::{Error, Input, Observer, Resources, Sink, Stream};

/// An open .lrz file. Its magic was read, and the layout of its chunks is known.
#[derive(Clone)]
pub struct Archive {
    bytes: Arc<Bytes>,
}

impl Archive {
    /// Opens a file. An encrypted file needs the password, and deriving the key takes seconds.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unsupported`], [`Error::Input`]; [`Error::Password`] if the password is missing or wrong.
    pub fn open(input: Arc<dyn Input>, password: Option<&[u8]>) -> Result<Archive, Error> {
        let mut bytes = Bytes::open(input, password)?;
        if bytes.magic.dialect == Dialect::V7 {
            bytes.filters = has_filters(&mut bytes)?;
        }
        Ok(Archive { bytes: Arc::new(bytes) })
    }

    /// Returns the magic of the file.
    pub fn magic(&self) -> &Magic {
        &self.bytes.magic
    }

    /// Returns the MD5 at the end of the file, if there is one.
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::Password`].
    pub fn md5(&self) -> Result<Option<[u8; 16]>, Error> {
        self.bytes.digest()
    }

    /// Whether the file has a checksum of its plain data: an MD5 or, before 0.7, the CRC of each chunk.
    pub fn has_checksum(&self) -> bool {
        self.bytes.magic.md5 || self.bytes.magic.dialect < Dialect::V7
    }

    /// Returns the chunks in order, read on demand. Nothing is decompressed.
    pub fn chunks(&self) -> Chunks<'_> {
        Chunks::new(&self.bytes)
    }

    /// Returns the blocks of stream 0 or 1 of a chunk in order, read on demand.
    pub fn blocks(&self, chunk: &ChunkInfo, stream: usize) -> Blocks<'_> {
        Blocks::new(&self.bytes, chunk, stream)
    }

    /// Decompresses the file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Password`] for faults of the file; [`Error::Input`], [`Error::Output`], [`Error::Scratch`],
    /// [`Error::Memory`], [`Error::Work`]. After an error the output is incomplete and was not checked.
    pub fn decompress(
        &self,
        target: &mut dyn Sink,
        options: &ReadOptions,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<Unpacked, Error> {
        super::decompress::decompress(&self.bytes, target, options, resources, observer)
    }

    /// Decompresses the file without writing an output.
    ///
    /// # Errors
    /// Returns the same errors as [`Archive::decompress`].
    pub fn verify(
        &self,
        options: &ReadOptions,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<Unpacked, Error> {
        self.decompress(&mut Stream(std::io::sink()), options, resources, observer)
    }
}

/// Whether the chunk heads of a file of version 0.7 have a filter byte. 0.7.1 writes the byte and 0.7.0 did not, under the same version
/// number. lrzip's fork uses the number for another layout.
fn has_filters(bytes: &mut Bytes) -> Result<bool, Error> {
    for filters in [true, false] {
        bytes.filters = filters;
        match Chunks::new(bytes).next() {
            Some(Err(Error::Input(error))) => return Err(Error::Input(error)),
            Some(Err(Error::Corrupt { .. } | Error::Password(_))) | None => {}
            Some(Err(error)) => return Err(error),
            Some(Ok(_)) => return Ok(filters),
        }
    }
    if bytes.seal.is_encrypted() {
        return Err(bytes.seal.nonsense(Error::corrupt(bytes.first, "no chunk", "a chunk")));
    }
    Err(ambiguous())
}
