//! Errors of making and applying deltas.

use std::fmt;
use std::io;

use packline_runtime::{FormatFault, MemoryFault, Unsupported, WorkFault};

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
    #[error("{0:#}")]
    Corrupt(#[from] FormatFault),
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
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
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// A codec cannot be made or cannot compress.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

impl Error {
    pub(crate) fn corrupt(offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        FormatFault::new(offset, what, expected).into()
    }

    pub(crate) fn unsupported(what: impl Into<String>, expected: impl Into<String>) -> Error {
        Unsupported::new(what, expected).into()
    }

    /// The error of reading a file, for `map_err`.
    pub(crate) fn input(side: Side) -> impl Fn(io::Error) -> Error {
        move |cause| Error::Input { side, cause }
    }
}
