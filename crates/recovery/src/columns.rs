//! Columns of shards, the output of a pass: the same byte range of each of several shards.

use packline_engine::Permit;
use packline_runtime::{Sink, TaskError};

use crate::{Error, Shape};

/// Columns of several shards, one after another.
pub(crate) struct Columns {
    /// Byte of a shard at which the columns begin.
    pub(crate) start: u64,
    /// Bytes of one column.
    pub(crate) width: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) _permit: Permit,
}

impl Columns {
    pub(crate) fn each(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.width as usize)
    }
}

/// Returns the start and width of each column of a recovery shard.
pub(crate) fn ranges(shape: &Shape, width: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
    let end = shape.parity_bytes();
    (0..end).step_by(width as usize).map(move |start| (start, width.min(end - start)))
}

/// Writes bytes at an offset of the sink.
///
/// # Errors
/// Returns [`Error::Output`] if the write fails.
pub(crate) fn put(sink: &mut dyn Sink, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    match sink.write_at(offset, bytes) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::internal("recovery data needs an output that is written at any offset".into())),
        Err(cause) => Err(Error::Output(cause)),
    }
}
