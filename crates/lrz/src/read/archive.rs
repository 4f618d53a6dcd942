//! A .lrz file that was opened.

use std::sync::Arc;

use super::bytes::Bytes;
use super::info::Chunks;
use super::{Blocks, ChunkInfo, ReadOptions, Unpacked};
use crate::format::{Dialect, Magic, ambiguous};
use crate::{Error, Input, Observer, Resources, Sink, Stream};

/// A .lrz file: opened, and read as far as its first chunk's head.
#[derive(Clone)]
pub struct Archive {
    bytes: Arc<Bytes>,
}

impl Archive {
    /// Opens a file; with the password, if it is encrypted, which takes seconds.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unsupported`], [`Error::Input`]; [`Error::Password`] if one is needed, or another.
    pub fn open(input: Arc<dyn Input>, password: Option<&[u8]>) -> Result<Archive, Error> {
        let mut bytes = Bytes::open(input, password)?;
        if bytes.magic.dialect == Dialect::V7 {
            bytes.filters = has_filters(&mut bytes)?;
        }
        Ok(Archive { bytes: Arc::new(bytes) })
    }

    /// What stands at its beginning.
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

    /// Its chunks, in order, each read when it is asked for: nothing is decompressed.
    pub fn chunks(&self) -> Chunks<'_> {
        Chunks::new(&self.bytes)
    }

    /// The blocks of stream 0 or 1 of one of its chunks, in order, each read when it is asked for.
    pub fn blocks(&self, chunk: &ChunkInfo, stream: usize) -> Blocks<'_> {
        Blocks::new(&self.bytes, chunk, stream)
    }

    /// Decompresses all of it.
    ///
    /// # Errors
    /// Faults of the file: [`Error::Corrupt`], [`Error::Password`]; refusals of the system: [`Error::Input`],
    /// [`Error::Output`], [`Error::Scratch`], [`Error::Memory`]; [`Error::Cancelled`]. What was written until then is not the
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

    /// Decompresses all of it to nowhere.
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

/// Whether the chunk heads of a file of 0.7 have the byte for a filter. 0.7.1 writes it and 0.7.0 did not, under the same
/// number; and so does another program, whose files have yet another layout.
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
