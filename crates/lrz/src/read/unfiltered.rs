//! A reader that reverses a block's filter incrementally.

use std::io::{self, Read};

use super::unfilter::Unfilter;
use crate::format::Filter;

/// Bytes processed at a time.
const PIECE: usize = 64 << 10;

/// Reads the data of `inner` with the filter reversed.
pub(super) struct Unfiltered<R> {
    inner: R,
    unfilter: Unfilter,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were returned.
    used: usize,
    /// Bytes of the buffer that are ready.
    done: usize,
    ended: bool,
}

impl<R: Read> Unfiltered<R> {
    pub(super) fn new(inner: R, filter: Filter) -> Unfiltered<R> {
        Unfiltered { inner, unfilter: Unfilter::new(filter), buffer: Vec::new(), used: 0, done: 0, ended: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.done);
        let kept = self.buffer.len();
        self.buffer.resize(PIECE, 0);
        let mut size = kept;
        while size < PIECE && !self.ended {
            let more = self.inner.read(&mut self.buffer[size..])?;
            self.ended = more == 0;
            size += more;
        }
        self.buffer.truncate(size);
        self.used = 0;
        self.done = self.unfilter.undo(&mut self.buffer, self.ended);
        Ok(())
    }
}

impl<R: Read> Read for Unfiltered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.done {
            self.refill()?;
        }
        let size = into.len().min(self.done - self.used);
        into[..size].copy_from_slice(&self.buffer[self.used..self.used + size]);
        self.used += size;
        Ok(size)
    }
}
