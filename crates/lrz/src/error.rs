//! Errors of reading and writing .lrz files.

use std::io;

use packline_runtime::TaskError;

/// Why a .lrz file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is malformed.
    #[error("{what} at byte {offset} (expected {expected})")]
    Corrupt {
        /// Offset in the file, bytes.
        offset: u64,
        /// Description of the fault.
        what: String,
        /// Description of valid content.
        expected: String,
    },
    /// A feature of the file is not supported.
    #[error("{what} (expected {expected})")]
    Unsupported {
        /// The feature.
        what: String,
        /// Supported values.
        expected: String,
    },
    /// The file is encrypted, and the password is missing or wrong.
    #[error("{0}")]
    Password(&'static str),
    /// The input could not be read.
    #[error("cannot read: {0}")]
    Input(#[source] io::Error),
    /// The input became shorter while it was read, or changed and would have to be read again.
    #[error("the file changed while it was read (expected it to stay as it is)")]
    Changed,
    /// The output could not be written, or read back.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// A temporary file could not be written or read.
    #[error("cannot use a temporary file: {0}")]
    Scratch(#[source] io::Error),
    /// The memory limit is too low.
    #[error("{allowed} bytes of memory are not enough for {what} (expected at least {needed} bytes)")]
    Memory {
        /// Bytes allowed.
        allowed: u64,
        /// Minimum that suffices, bytes.
        needed: u64,
        /// What needs it.
        what: String,
    },
    /// No random bytes are available for salts.
    #[error("cannot get random bytes: {0}")]
    Random(#[source] io::Error),
    /// A codec failed to compress: a bug or out of memory.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    /// The cancel token was set.
    #[error("stopped")]
    Cancelled,
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// The file is malformed at byte `offset`.
    pub(crate) fn corrupt(offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Corrupt { offset, what: what.into(), expected: expected.into() }
    }
}

impl TaskError for Error {
    fn cancelled() -> Error {
        Error::Cancelled
    }

    fn internal(what: String) -> Error {
        Error::Internal(what)
    }
}
