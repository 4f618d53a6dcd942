//! An open .lrz file.

use std::sync::Arc;

use super::bytes::Bytes;
use super::info::Chunks;
use super::{Blocks, ChunkInfo, ReadOptions, Unpacked};
use crate::format::{Dialect, Magic, ambiguous};
use crate::{Error, Input, Observer, Resources, Sink, Stream};

/// A .lrz file that was opened and read up to its first chunk's header.
#[derive(Clone)]
pub struct Archive {
    bytes: Arc<Bytes>,
}

impl Archive {
    /// Opens a file; with the password, if it is encrypted, which takes seconds.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unsupported`], [`Error::Input`]; [`Error::Password`] if it is missing or wrong.
    pub fn open(input: Arc<dyn Input>, password: Option<&[u8]>) -> Result<Archive, Error> {
        let mut bytes = Bytes::open(input, password)?;
        if bytes.magic.dialect == Dialect::V7 {
            bytes.filters = has_filters(&mut bytes)?;
        }
        Ok(Archive { bytes: Arc::new(bytes) })
    }

    /// The head of the file, already checked.
    pub fn magic(&self) -> &Magic {
        &self.bytes.magic
    }

    /// The MD5 at its end, if it has one.
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::Password`].
    pub fn md5(&self) -> Result<Option<[u8; 16]>, Error> {
        self.bytes.digest()
    }

    /// Whether it has a checksum of its plain data: an MD5 or, before 0.7, the CRC of each chunk.
    pub fn has_checksum(&self) -> bool {
        self.bytes.magic.md5 || self.bytes.magic.dialect < Dialect::V7
    }

    /// Its chunks, in order, read on demand; nothing is decompressed.
    pub fn chunks(&self) -> Chunks<'_> {
        Chunks::new(&self.bytes)
    }

    /// The blocks of stream 0 or 1 of a chunk, in order, read on demand.
    pub fn blocks(&self, chunk: &ChunkInfo, stream: usize) -> Blocks<'_> {
        Blocks::new(&self.bytes, chunk, stream)
    }

    /// Decompresses all of it.
    ///
    /// # Errors
    /// Faults of the file: [`Error::Corrupt`], [`Error::Password`]; refusals of the system: [`Error::Input`],
    /// [`Error::Output`], [`Error::Scratch`], [`Error::Memory`]; [`Error::Work`]. What was written until then is not the
    /// whole, and not checked.
    pub fn decompress(
        &self,
        target: &mut dyn Sink,
        options: &ReadOptions,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<Unpacked, Error> {
        super::decompress::decompress(&self.bytes, target, options, resources, observer)
    }

    /// Decompresses all of it without output.
    ///
    /// # Errors
    /// Those of [`Archive::decompress`].
    pub fn verify(
        &self,
        options: &ReadOptions,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<Unpacked, Error> {
        self.decompress(&mut Stream(std::io::sink()), options, resources, observer)
    }
}

/// Whether the chunk headers of a file of 0.7 have the byte for a filter. 0.7.1 writes it and 0.7.0 did not, under the same number; and
/// lrzip's fork uses that number for yet another layout.
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
    if bytes.seal.is_shut() {
        return Err(bytes.seal.nonsense(Error::corrupt(bytes.first, "no chunk", "a chunk")));
    }
    Err(ambiguous())
}
