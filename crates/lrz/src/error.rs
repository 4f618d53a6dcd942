//! The errors of reading and writing .lrz files.

use std::io;

use packline_runtime::{FormatFault, MemoryFault, Unsupported, WorkFault};

/// Why a .lrz file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is malformed.
    #[error(transparent)]
    Corrupt(#[from] FormatFault),
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The file is encrypted, and the password is missing or wrong.
    #[error("{0}")]
    Password(&'static str),
    /// The input could not be read.
    #[error("cannot read: {0}")]
    Input(#[source] io::Error),
    /// The input became shorter while it was read, or changed before it had to be read again.
    #[error("the file changed while it was read")]
    Changed,
    /// The output could not be written, or read back.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// A temporary file could not be written or read.
    #[error("cannot use a temporary file: {0}")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// The source of random bytes for salts failed.
    #[error("cannot get random bytes: {0}")]
    Random(#[source] io::Error),
    /// A codec failed to compress: out of memory, or a bug.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

impl Error {
    /// Reports a malformed file at byte `offset`.
    pub(crate) fn corrupt(offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        FormatFault::new(offset, what, expected).into()
    }
}
