//! Columns of shards, as a pass makes them: the same few bytes of each of several shards.

use packline_engine::Permit;
use packline_runtime::{Sink, TaskError};

use crate::{Error, Shape};

/// Columns of several shards, one after the other.
pub(crate) struct Columns {
    /// Byte of a shard at which they begin.
    pub(crate) start: u64,
    /// Bytes of one.
    pub(crate) width: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) _permit: Permit,
}

impl Columns {
    pub(crate) fn each(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.width as usize)
    }
}

/// Start and width of the columns that make up a recovery shard.
pub(crate) fn ranges(shape: &Shape, width: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
    let end = shape.parity_bytes();
    (0..end).step_by(width as usize).map(move |start| (start, width.min(end - start)))
}

/// Writes bytes to their place.
///
/// # Errors
/// [`Error::Output`].
pub(crate) fn put(sink: &mut dyn Sink, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    match sink.write_at(offset, bytes) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::internal("recovery data needs an output that is written at any offset".into())),
        Err(cause) => Err(Error::Output(cause)),
    }
}
