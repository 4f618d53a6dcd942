//! The bytes of inodes, which are written nearly in order: some inodes are placed in gaps before others.

use packline_blocks::Error;

use super::output::Output;
use super::placer::WINDOW;

/// Bytes that are written at once.
const STEP: usize = 256 << 10;

/// Collects inodes.
pub(super) struct InodeArea<'a, 's> {
    out: &'a mut Output<'s>,
    /// Offset in the area of the first byte of `held`.
    start: u64,
    held: Vec<u8>,
}

impl<'a, 's> InodeArea<'a, 's> {
    /// `start`: the offset in the area of the next byte of `out`.
    pub(super) fn new(out: &'a mut Output<'s>, start: u64) -> InodeArea<'a, 's> {
        InodeArea { out, start, held: Vec::new() }
    }

    /// Sets bytes from an offset on, which is at most [`WINDOW`] bytes before the end so far.
    pub(super) fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let from = (at - self.start) as usize;
        let to = from + bytes.len();
        if self.held.len() < to {
            self.held.resize(to, 0);
        }
        self.held[from..to].copy_from_slice(bytes);
        if self.held.len() < STEP + WINDOW as usize {
            return Ok(());
        }
        self.flush(self.held.len() - WINDOW as usize)
    }

    /// Writes all bytes, and zeros up to the offset `end`.
    pub(super) fn finish(mut self, end: u64) -> Result<(), Error> {
        self.held.resize((end - self.start) as usize, 0);
        self.flush(self.held.len())
    }

    fn flush(&mut self, length: usize) -> Result<(), Error> {
        self.out.put(&self.held[..length])?;
        self.held.drain(..length);
        self.start += length as u64;
        Ok(())
    }
}
