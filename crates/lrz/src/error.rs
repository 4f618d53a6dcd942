//! What can go wrong with a .lrz file.

use std::io;

use packline_runtime::TaskError;

/// Why a .lrz file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is malformed. Whoever made it is at fault, or what it lies on.
    #[error("{what} at byte {offset} (expected {expected})")]
    Corrupt {
        /// Where in the file, bytes.
        offset: u64,
        /// What was found.
        what: String,
        /// What would have been right.
        expected: String,
    },
    /// The file is of a kind that is not read here. Nobody is at fault.
    #[error("{what} (expected {expected})")]
    Unsupported {
        /// What it is.
        what: String,
        /// What could be read.
        expected: String,
    },
    /// The file is encrypted and no password was given, or not the right one. The user's to mend.
    #[error("{0}")]
    Password(&'static str),
    /// The input could not be read.
    #[error("cannot read: {0}")]
    Input(#[source] io::Error),
    /// The input changed while it was read. The user's to mend.
    #[error("the file changed while it was read (expected it to stay as it is)")]
    Changed,
    /// The output could not be written, or read back.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// A temporary file could not be written or read.
    #[error("cannot use a temporary file: {0}")]
    Scratch(#[source] io::Error),
    /// The memory that was allowed is not enough. The user's to change.
    #[error("{allowed} bytes of memory are not enough for {what} (expected at least {needed} bytes; see --mem)")]
    Memory {
        /// Bytes allowed.
        allowed: u64,
        /// Smallest amount that works.
        needed: u64,
        /// For what.
        what: String,
    },
    /// There are no random bytes for salts.
    #[error("cannot get random bytes: {0}")]
    Random(#[source] io::Error),
    /// A codec refused to compress: a fault of this program or out of memory.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    /// Somebody asked to stop.
    #[error("stopped")]
    Cancelled,
    /// A fault of this program.
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
