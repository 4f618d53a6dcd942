//! Compressed bytes, one after the other.

use std::io::{ErrorKind, Read};

use super::fault::Fault;

/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// A reader with a buffer.
pub(super) struct Source<R> {
    reader: R,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    /// Bytes taken before those in the buffer.
    before: u64,
}

impl<R: Read> Source<R> {
    /// Bytes that a source takes beside its reader.
    pub(super) const MEMORY: usize = BUFFER;

    pub(super) fn new(reader: R) -> Self {
        Source { reader, buffer: vec![0; BUFFER].into(), at: 0, end: 0, before: 0 }
    }

    /// Bytes taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.before + self.at as u64
    }

    /// The next byte; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<u8>, Fault> {
        if self.at == self.end && !self.fill()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.buffer[self.at - 1]))
    }

    /// The next byte, which must be there.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        if self.at < self.end && self.at < self.buffer.len() {
            self.at += 1;
            return Ok(self.buffer[self.at - 1]);
        }
        self.next()?.ok_or(Fault::Bad("ends too early"))
    }

    /// Four bytes, the most significant first.
    pub(super) fn word(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_be_bytes([self.byte()?, self.byte()?, self.byte()?, self.byte()?]))
    }

    /// Reads more. False at the end.
    fn fill(&mut self) -> Result<bool, Fault> {
        self.before += self.end as u64;
        (self.at, self.end) = (0, 0);
        loop {
            match self.reader.read(&mut self.buffer) {
                Ok(size) => {
                    self.end = size.min(self.buffer.len());
                    return Ok(self.end > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Read(error)),
            }
        }
    }
}
