//! The output file.

use crate::{Error, Sink};

/// A sink with a byte count.
pub(super) struct Output<'a> {
    sink: &'a mut dyn Sink,
    written: u64,
}

impl<'a> Output<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Output<'a> {
        Output { sink, written: 0 }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.written += bytes.len() as u64;
        self.sink.append(bytes).map_err(Error::Output)
    }

    /// Overwrites bytes, if the sink supports it.
    pub(super) fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<bool, Error> {
        self.sink.write_at(at, bytes).map_err(Error::Output)
    }

    /// The number of bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }
}
