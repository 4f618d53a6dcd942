//! Buffered compressed input with a byte count.

use std::io::{ErrorKind, Read};

use super::fault::Fault;

const BUFFER: usize = 64 * 1024;

pub(super) struct Source<R> {
    reader: R,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    /// Number of bytes before those in the buffer.
    before: u64,
}

impl<R: Read> Source<R> {
    /// Memory in bytes of a source without its reader.
    pub(super) const MEMORY: usize = BUFFER;

    pub(super) fn new(reader: R) -> Self {
        Source { reader, buffer: vec![0; BUFFER].into(), at: 0, end: 0, before: 0 }
    }

    /// Number of bytes consumed so far.
    pub(super) fn taken(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Returns the next byte, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<u8>, Fault> {
        if self.at == self.end && !self.fill()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.buffer[self.at - 1]))
    }

    /// Returns the next byte, or an error at the end.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        if self.at < self.end && self.at < self.buffer.len() {
            self.at += 1;
            return Ok(self.buffer[self.at - 1]);
        }
        self.next()?.ok_or(Fault::Bad("ends too early"))
    }

    /// Reads four bytes, the most significant first.
    pub(super) fn word(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_be_bytes([self.byte()?, self.byte()?, self.byte()?, self.byte()?]))
    }

    /// Refills the buffer. Returns false at the end.
    fn fill(&mut self) -> Result<bool, Fault> {
        self.before += self.end as u64;
        self.at = 0;
        self.end = 0;
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
