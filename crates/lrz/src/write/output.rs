//! The file as it is appended to.

use crate::{Error, Sink};

/// A sink, and how much it has got.
pub(super) struct Output<'a> {
    sink: &'a mut dyn Sink,
    written: u64,
}

impl<'a> Output<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Output<'a> {
        Output { sink, written: 0 }
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.written += bytes.len() as u64;
        self.sink.append(bytes).map_err(Error::Output)
    }

    /// Replaces bytes, if the sink can.
    pub(super) fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<bool, Error> {
        self.sink.write_at(at, bytes).map_err(Error::Output)
    }

    /// Bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }
}
