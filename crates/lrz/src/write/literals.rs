//! Generates stream 1, the literal bytes of the opcodes, block by block.

use packline_runtime::TaskError;

use super::view::View;
use crate::format::OpcodeForm;
use crate::spool::Spool;
use crate::{Error, Input};

/// Bytes of opcodes read at a time.
const PIECE: usize = 64 << 10;

/// Follows the opcodes of a chunk, and collects the literals.
pub(super) struct Literals<'a> {
    opcodes: Opcodes<'a>,
    view: &'a View,
    /// The current position in the chunk, in bytes.
    position: u64,
    /// Bytes left of the current literal.
    pending: u64,
}

impl<'a> Literals<'a> {
    /// Reads the literals of a chunk. A [`super::opcodes::Recorder`] wrote the opcodes.
    pub(super) fn new(form: OpcodeForm, opcodes: &'a Spool, view: &'a View) -> Literals<'a> {
        Literals { opcodes: Opcodes::new(form, opcodes), view, position: 0, pending: 0 }
    }

    /// Returns the next `size` bytes. There must be enough.
    pub(super) fn next(&mut self, size: usize) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(size);
        while out.len() < size {
            while self.pending == 0 {
                self.step()?;
            }
            let now = self.pending.min((size - out.len()) as u64);
            self.view.append(self.position, now as usize, &mut out)?;
            self.position += now;
            self.pending -= now;
        }
        Ok(out)
    }

    /// Advances to the next opcode.
    fn step(&mut self) -> Result<(), Error> {
        match self.opcodes.next()? {
            (0, false) => return Err(Error::internal("the opcodes end before the literals".into())),
            (length, false) => self.pending = length,
            (length, true) => self.position += length,
        }
        Ok(())
    }

    /// The current position in the chunk, in bytes.
    pub(super) fn position(&self) -> u64 {
        self.position
    }
}

/// Reads opcodes again.
struct Opcodes<'a> {
    form: OpcodeForm,
    spool: &'a Spool,
    /// Bytes read from the spool so far.
    read: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a> Opcodes<'a> {
    fn new(form: OpcodeForm, spool: &'a Spool) -> Opcodes<'a> {
        Opcodes { form, spool, read: 0, buffer: Vec::new(), at: 0 }
    }

    /// Returns the length of the next run, and whether the run is a match.
    fn next(&mut self) -> Result<(u64, bool), Error> {
        let head = self.take(self.form.head())?;
        let (length, is_match) = self.form.decode_head(&self.buffer[head..]);
        if is_match {
            self.take(self.form.tail())?;
        }
        Ok((length, is_match))
    }

    /// Consumes `bytes` bytes, and returns their position in the buffer.
    fn take(&mut self, bytes: usize) -> Result<usize, Error> {
        if self.buffer.len() - self.at < bytes {
            self.refill()?;
        }
        let start = self.at;
        self.at += bytes;
        if self.at > self.buffer.len() {
            return Err(Error::internal("the opcodes have no end".into()));
        }
        Ok(start)
    }

    /// Moves the unused bytes to the front, and reads more.
    fn refill(&mut self) -> Result<(), Error> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let kept = self.buffer.len();
        let more = (self.spool.size() - self.read).min(PIECE as u64) as usize;
        self.buffer.resize(kept + more, 0);
        self.spool.read_at(self.read, &mut self.buffer[kept..]).map_err(Error::Scratch)?;
        self.read += more as u64;
        Ok(())
    }
}
