//! A chunk's plain bytes: in memory, or read where they lie.

use std::io;

use packline_longrange::Window;

use crate::spool::Spool;
use crate::{Error, Input};

/// The plain bytes of a chunk.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    from: From<'a>,
    length: u64,
}

#[derive(Clone, Copy)]
enum From<'a> {
    Memory(&'a [u8]),
    /// From this byte on.
    Input(&'a dyn Input, u64),
    Spool(&'a Spool),
}

impl<'a> View<'a> {
    /// All of these.
    pub(super) fn memory(bytes: &'a [u8]) -> View<'a> {
        View { from: From::Memory(bytes), length: bytes.len() as u64 }
    }

    /// `length` bytes of an input from byte `start` on.
    pub(super) fn input(input: &'a dyn Input, start: u64, length: u64) -> View<'a> {
        View { from: From::Input(input, start), length }
    }

    /// All that was put by.
    pub(super) fn spool(spool: &'a Spool) -> View<'a> {
        match spool.in_memory() {
            Some(bytes) => View::memory(bytes),
            None => View { from: From::Spool(spool), length: spool.length() },
        }
    }

    /// What a failure to read is.
    pub(super) fn failed(&self, cause: io::Error) -> Error {
        match self.from {
            From::Spool(_) => Error::Scratch(cause),
            // It was so long when it was opened.
            _ if cause.kind() == io::ErrorKind::UnexpectedEof => Error::Changed,
            _ => Error::Input(cause),
        }
    }

    /// Appends `size` bytes at byte `at` of the chunk.
    pub(super) fn append(&self, at: u64, size: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        if let From::Memory(bytes) = self.from {
            let part = usize::try_from(at).ok().and_then(|start| bytes.get(start..start.checked_add(size)?));
            out.extend_from_slice(part.ok_or(Error::Changed)?);
            return Ok(());
        }
        let before = out.len();
        out.resize(before + size, 0);
        self.read(at, &mut out[before..]).map_err(|cause| self.failed(cause))
    }
}

impl Window for View<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self.from {
            From::Memory(bytes) => bytes.read(at, into),
            From::Input(input, start) => input.read_at(start + at, into),
            From::Spool(spool) => spool.read_at(at, into),
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self.from {
            From::Memory(bytes) => Some(bytes),
            _ => None,
        }
    }
}
