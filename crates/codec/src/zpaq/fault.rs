//! A fault of a stream, before its size is added.

use std::io;

use super::NAME;
use crate::CodecError;

#[derive(Debug)]
pub(super) enum Fault {
    Bad(&'static str),
    /// A model needs this many bytes, which is more than allowed.
    Memory(u64),
    Read(io::Error),
}

impl Fault {
    /// The error of a reader after `size` compressed bytes, with a limit of `memory` bytes.
    pub(super) fn into_io(self, size: u64, memory: u64) -> io::Error {
        match self {
            Fault::Read(error) => error,
            fault => io::Error::new(io::ErrorKind::InvalidData, fault.into_codec(size, memory)),
        }
    }

    pub(super) fn into_codec(self, size: u64, memory: u64) -> CodecError {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        match self {
            Fault::Bad(reason) => CodecError::Malformed { codec: NAME, size, reason },
            Fault::Memory(needed) => CodecError::Memory { codec: NAME, needed, limit: memory },
            Fault::Read(_) => CodecError::Malformed { codec: NAME, size, reason: "cannot be read" },
        }
    }
}
