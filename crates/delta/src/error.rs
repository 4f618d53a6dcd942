//! The errors of writing and applying deltas.

use std::fmt;
use std::io;

use packline_runtime::{FormatFault, MemoryFault, Unsupported, WorkFault};

/// One of the files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The file that the delta is relative to.
    Old,
    /// The file that the delta describes.
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

/// Why a delta cannot be written or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The delta is damaged.
    #[error("{0:#}")]
    Corrupt(#[from] FormatFault),
    /// The file begins with other bytes than a delta.
    #[error("is not a delta")]
    NotDelta,
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The old file is not the one that the delta was made for.
    #[error("the delta was made for another file: {what} (expected {expected})")]
    OtherOld {
        /// The length or hash of the old file.
        what: String,
        /// The length or hash that the delta states.
        expected: String,
    },
    /// A file cannot be read.
    #[error("cannot read: {cause}")]
    Input {
        /// The file that cannot be read.
        side: Side,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// A file was written to while it was read.
    #[error("the file changed while it was read")]
    Changed(Side),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// A temporary file cannot be created, written or read.
    #[error("cannot use a temporary file: {0}")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// A codec cannot be created or cannot compress.
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

    /// Converts an error of reading a file, for `map_err`.
    pub(crate) fn input(side: Side) -> impl Fn(io::Error) -> Error {
        move |cause| Error::Input { side, cause }
    }
}
