//! Generates stream 1, the literal bytes of the opcodes, block by block. The caller's thread finds where the blocks begin, and workers copy
//! their bytes.

use std::sync::Arc;

use packline_runtime::TaskError;

use super::view::View;
use crate::format::OpcodeForm;
use crate::spool::Spool;
use crate::{Error, Input};

/// Bytes of opcodes read at a time.
const PIECE: usize = 64 << 10;

/// The literals of a chunk.
#[derive(Clone)]
pub(super) struct LiteralSource {
    pub(super) form: OpcodeForm,
    /// The opcodes, written by a [`super::opcodes::Recorder`].
    pub(super) opcodes: Arc<Spool>,
    pub(super) view: View,
}

/// A position in the literals of a chunk.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LiteralPlace {
    /// The offset of the next opcode.
    opcode: u64,
    /// The position in the chunk, in bytes.
    position: u64,
    /// Bytes left of the current literal.
    pending: u64,
}

impl LiteralSource {
    /// Returns the `size` literal bytes from a place on. There must be enough.
    pub(super) fn bytes(&self, place: LiteralPlace, size: usize) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(size);
        let mut literals = Literals::at(self, place);
        literals.advance(size, |at, now| self.view.append(at, now, &mut out))?;
        Ok(out)
    }
}

/// Follows the opcodes of a chunk.
pub(super) struct Literals<'a> {
    opcodes: Opcodes<'a>,
    /// The current position in the chunk, in bytes.
    position: u64,
    /// Bytes left of the current literal.
    pending: u64,
}

impl<'a> Literals<'a> {
    /// Begins at a place.
    pub(super) fn at(source: &'a LiteralSource, place: LiteralPlace) -> Literals<'a> {
        let opcodes = Opcodes::at(source.form, &source.opcodes, place.opcode);
        Literals { opcodes, position: place.position, pending: place.pending }
    }

    /// Returns the current place.
    pub(super) fn place(&self) -> LiteralPlace {
        LiteralPlace { opcode: self.opcodes.offset(), position: self.position, pending: self.pending }
    }

    /// Passes `size` bytes of literals, of which there must be enough. `take` gets the position in the chunk and the length of each part.
    pub(super) fn advance(
        &mut self,
        size: usize,
        mut take: impl FnMut(u64, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut left = size as u64;
        while left > 0 {
            while self.pending == 0 {
                self.step()?;
            }
            let now = self.pending.min(left);
            take(self.position, now as usize)?;
            self.position += now;
            self.pending -= now;
            left -= now;
        }
        Ok(())
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
    /// Begins with the opcode at `offset`.
    fn at(form: OpcodeForm, spool: &'a Spool, offset: u64) -> Opcodes<'a> {
        Opcodes { form, spool, read: offset, buffer: Vec::new(), at: 0 }
    }

    /// Returns the offset of the next opcode.
    fn offset(&self) -> u64 {
        self.read - (self.buffer.len() - self.at) as u64
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

#[cfg(test)]
mod tests {
    use packline_longrange::Match;

    use super::super::opcodes::Recorder;
    use super::*;
    use crate::format::{Dialect, width_for};

    #[test]
    fn blocks_from_any_place_are_the_literals() {
        let chunk: Vec<u8> = (0..200_000_u32).map(|at| (at * 7 % 251) as u8).collect();
        let form = OpcodeForm::new(Dialect::V6, width_for(chunk.len() as u64));
        let mut opcodes = Spool::new(u64::MAX, None);
        let mut recorder = Recorder::new(form, &mut opcodes);
        let mut expected = chunk[..100].to_vec();
        // More than 64 KiB of opcodes.
        for at in (100..chunk.len() as u64 - 19).step_by(19) {
            recorder.take(Match { at, distance: 50, length: 6 }).unwrap();
            expected.extend_from_slice(&chunk[at as usize + 6..at as usize + 19]);
        }
        let counts = recorder.finish(chunk.len() as u64, 0).unwrap();
        expected.extend_from_slice(&chunk[chunk.len() - (counts.literal_bytes as usize - expected.len())..]);
        let view = View::memory(&Arc::new(chunk));
        let source = LiteralSource { form, opcodes: Arc::new(opcodes), view };
        for size in [1, 1000, 65_536, expected.len()] {
            let mut literals = Literals::at(&source, LiteralPlace::default());
            for block in expected.chunks(size).take(300) {
                let place = literals.place();
                literals.advance(block.len(), |_, _| Ok(())).unwrap();
                assert_eq!(source.bytes(place, block.len()).unwrap(), block, "{size} {place:?}");
            }
        }
    }
}
