//! An opened head, and what both ways of reading share.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use packline_runtime::{Input, Resources};

use super::{Damage, PlainInput, PlainStream};
use crate::cipher::PayloadKey;
use crate::{ChunkSize, Error, Part};

/// The key of a file's chunks, and where they begin.
#[derive(Clone)]
pub struct OpenedHead {
    pub(super) key: Arc<PayloadKey>,
    pub(super) chunk: ChunkSize,
    /// Byte of the file at which the first chunk begins.
    pub(super) start: u64,
    pub(super) padded: bool,
    /// Where damaged chunks are noted, which are read as zeros then.
    pub(super) damage: Option<Arc<Damage>>,
}

impl fmt::Debug for OpenedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedHead").field("chunk", &self.chunk).field("start", &self.start).finish_non_exhaustive()
    }
}

impl OpenedHead {
    pub(crate) fn new(key: Arc<PayloadKey>, chunk: ChunkSize, start: u64, padded: bool) -> OpenedHead {
        OpenedHead { key, chunk, start, padded, damage: None }
    }

    /// Damaged chunks are read as zeros and noted: those of a stream when they are read, others by [`PlainInput::note_damage`].
    #[must_use]
    pub fn noting(mut self, damage: &Arc<Damage>) -> OpenedHead {
        self.damage = Some(Arc::clone(damage));
        self
    }

    /// The content of the file that the head is of, at any offset. The last chunk is opened at once: so the size is authentic.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file is not whole, [`Error::Input`].
    pub fn input(self, file: Arc<dyn Input>) -> Result<PlainInput, Error> {
        PlainInput::new(self, file)
    }

    /// The content from front to back, of a file that is read up to the first chunk. What begins with `may_follow` may stand behind the last
    /// chunk: it is read over.
    ///
    /// # Errors
    /// [`Error::Work`] if threads cannot be started.
    pub fn stream<R: Read + Send>(
        self,
        file: R,
        resources: &Resources,
        may_follow: Option<[u8; 8]>,
    ) -> Result<PlainStream<R>, Error> {
        PlainStream::new(self, file, resources, may_follow)
    }
}

/// Where a chunk begins in the file.
pub(super) fn offset(start: u64, number: u64, chunk: ChunkSize) -> u64 {
    start + number * chunk.stride() as u64
}

/// A chunk that is not authentic.
pub(super) fn forged(number: u64, offset: u64) -> Error {
    let expected = "the chunk that was written here, unchanged";
    Error::corrupt(Part::Chunk(number), offset, "it does not open: it is damaged or of another place or file", expected)
}

/// A header that no chunk of this place can have.
pub(super) fn impossible(number: u64, offset: u64) -> Error {
    Error::corrupt(Part::Chunk(number), offset, "its header is malformed", "a length and whether it is the last")
}

/// Padding that is authentic, and yet none.
pub(super) fn malformed_padding(start: u64) -> Error {
    Error::corrupt(Part::Padding, start, "it is malformed", "zeros, and the length of what is before them")
}

/// The file ends before its last chunk does.
pub(super) fn cut(number: u64, offset: u64) -> Error {
    Error::corrupt(Part::Chunk(number), offset, "the file is cut off in it or before it", "the last chunk, whole")
}

/// Bytes behind the last chunk.
pub(super) fn extended(number: u64, offset: u64) -> Error {
    Error::corrupt(Part::Chunk(number), offset, "bytes follow the last chunk", "the end of the file")
}
