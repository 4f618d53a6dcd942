//! Errors of making and applying deltas.

use std::fmt;
use std::io;

use packline_runtime::TaskError;

/// One of the files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The file that both sides have.
    Old,
    /// The file that the delta makes of it.
    New,
    /// The delta.
    Delta,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Old => "the old file",
            Side::New => "the new file",
            Side::Delta => "the delta",
        })
    }
}

/// Why a delta cannot be made or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The delta is damaged.
    #[error("at byte {offset}: {what} (expected {expected})")]
    Corrupt {
        /// Offset of the faulty part in the delta, bytes.
        offset: u64,
        /// Description of the fault.
        what: String,
        /// Description of valid content.
        expected: String,
    },
    /// The delta needs something that this program does not have.
    #[error("{what} (expected {expected})")]
    Unsupported {
        /// The feature.
        what: String,
        /// Supported values.
        expected: String,
    },
    /// The old file is not the one that the delta was made for.
    #[error("the delta was made for another file: {what} (expected {expected})")]
    OtherOld {
        /// What it has.
        what: String,
        /// What the file has for which the delta was made.
        expected: String,
    },
    /// A file cannot be read.
    #[error("cannot read: {cause}")]
    Input {
        /// Which one.
        side: Side,
        /// The operating system's answer.
        #[source]
        cause: io::Error,
    },
    /// A file was written to while it was read.
    #[error("it was written to while it was read (expected it to stay as it is)")]
    Changed(Side),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// A temporary file cannot be made, written or read.
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
    /// A codec cannot be made or cannot compress.
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
    pub(crate) fn corrupt(offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Corrupt { offset, what: what.into(), expected: expected.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Unsupported { what: what.into(), expected: expected.into() }
    }

    /// The error of reading a file, for `map_err`.
    pub(crate) fn input(side: Side) -> impl Fn(io::Error) -> Error {
        move |cause| Error::Input { side, cause }
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
