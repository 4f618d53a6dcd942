//! An opened head, and what both ways of reading share.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use packline_runtime::{Input, Resources};

use super::{Damage, PlainInput, PlainStream};
use crate::cipher::PayloadKey;
use crate::{ChunkSize, Error, Part};

/// The key of a file's chunks, and the offset of the first chunk.
#[derive(Clone)]
pub struct OpenedHead {
    pub(super) key: Arc<PayloadKey>,
    pub(super) chunk: ChunkSize,
    /// Offset of the first chunk in the file.
    pub(super) start: u64,
    pub(super) padded: bool,
    /// Notes damaged chunks, which are then read as zeros.
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

    /// Reads damaged chunks as zeros and notes them. A stream notes them when they are read, [`PlainInput::note_damage`] notes the others.
    #[must_use]
    pub fn with_damage(mut self, damage: &Arc<Damage>) -> OpenedHead {
        self.damage = Some(Arc::clone(damage));
        self
    }

    /// The content of the head's file, at any offset. The last chunk is opened at once, so that the size is authentic.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file is incomplete; [`Error::Input`].
    pub fn input(self, file: Arc<dyn Input>) -> Result<PlainInput, Error> {
        PlainInput::new(self, file)
    }

    /// The content from start to end. `file` was read up to the first chunk. Data that begins with `may_follow` may be after the last
    /// chunk, and is skipped.
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

/// Offset of a chunk in the file.
pub(super) fn offset(start: u64, number: u64, chunk: ChunkSize) -> u64 {
    start + number * chunk.stride() as u64
}

/// The error for a chunk that is not authentic.
pub(super) fn forged(number: u64, offset: u64) -> Error {
    let expected = "the unchanged chunk";
    Error::corrupt(Part::Chunk(number), offset, "it does not open: damaged, moved, or from another file", expected)
}

/// The error for a header that no chunk at this place can have.
pub(super) fn impossible(number: u64, offset: u64) -> Error {
    Error::corrupt(Part::Chunk(number), offset, "its header is malformed", "a length and whether it is the last")
}

/// The error for padding that is authentic but malformed.
pub(super) fn malformed_padding(start: u64) -> Error {
    Error::corrupt(Part::Padding, start, "it is malformed", "zeros, then the length of the content")
}

/// The error for a file that ends before its last chunk does.
pub(super) fn cut(number: u64, offset: u64) -> Error {
    Error::corrupt(Part::Chunk(number), offset, "the file is cut off before its end", "the complete last chunk")
}

/// The error for bytes after the last chunk.
pub(super) fn extended(number: u64, offset: u64) -> Error {
    Error::corrupt(Part::Chunk(number), offset, "bytes follow the last chunk", "the end of the file")
}
