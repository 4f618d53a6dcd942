//! The plain bytes of a chunk: in memory, in a spool, or read from the input.

use std::io;
use std::sync::Arc;

use packline_longrange::Window;

use crate::spool::Spool;
use crate::{Error, Input};

/// The plain bytes of a chunk.
#[derive(Clone)]
pub(super) struct View {
    from: From,
    length: u64,
}

#[derive(Clone)]
enum From {
    Memory(Arc<Vec<u8>>),
    /// The input, from this byte.
    Input(Arc<dyn Input>, u64),
    Spool(Arc<Spool>),
}

impl View {
    /// A view of bytes in memory.
    pub(super) fn memory(bytes: &Arc<Vec<u8>>) -> View {
        View { length: bytes.len() as u64, from: From::Memory(Arc::clone(bytes)) }
    }

    /// A view of `length` bytes of an input from byte `start`.
    pub(super) fn input(input: &Arc<dyn Input>, start: u64, length: u64) -> View {
        View { from: From::Input(Arc::clone(input), start), length }
    }

    /// A view of all bytes of a spool.
    pub(super) fn spool(spool: &Arc<Spool>) -> View {
        View { length: spool.size(), from: From::Spool(Arc::clone(spool)) }
    }

    /// Converts a read error.
    pub(super) fn failed(&self, cause: io::Error) -> Error {
        match &self.from {
            From::Spool(_) => Error::Scratch(cause),
            // The input became shorter after it was opened.
            _ if cause.kind() == io::ErrorKind::UnexpectedEof => Error::Changed,
            _ => Error::Input(cause),
        }
    }

    /// Appends `size` bytes from byte `at` of the chunk.
    pub(super) fn append(&self, at: u64, size: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        if let Some(bytes) = self.bytes() {
            let part = usize::try_from(at).ok().and_then(|start| bytes.get(start..start.checked_add(size)?));
            out.extend_from_slice(part.ok_or(Error::Changed)?);
            return Ok(());
        }
        let before = out.len();
        out.resize(before + size, 0);
        self.read(at, &mut out[before..]).map_err(|cause| self.failed(cause))
    }
}

impl Window for View {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.from {
            From::Memory(bytes) => bytes.read(at, into),
            From::Input(input, start) => input.read_at(start + at, into),
            From::Spool(spool) => spool.read_at(at, into),
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match &self.from {
            From::Memory(bytes) => Some(bytes),
            From::Spool(spool) => spool.in_memory(),
            From::Input(..) => None,
        }
    }
}
