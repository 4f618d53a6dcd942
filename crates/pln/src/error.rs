//! The errors of reading and writing .pln files.

use std::fmt;
use std::io;

use packline_runtime::{FormatFault, MemoryFault, Unsupported, WorkFault, expectation};

/// A part of a .pln file. Numbers count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The first 8 bytes of the file, which identify the format.
    Magic,
    /// The head of the file.
    Head,
    /// A record.
    Record(u64),
    /// The table after a group of records.
    Table(u64),
    /// The index of the tables.
    Index,
    /// The trailer.
    Trailer,
    /// Bytes after the trailer.
    AfterTrailer,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Magic => f.write_str("the magic"),
            Part::Head => f.write_str("the head"),
            Part::Record(number) => write!(f, "record {number}"),
            Part::Table(number) => write!(f, "the table of group {number}"),
            Part::Index => f.write_str("the index"),
            Part::Trailer => f.write_str("the trailer"),
            Part::AfterTrailer => f.write_str("the bytes after the trailer"),
        }
    }
}

/// Why a .pln file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of the file is invalid.
    #[error("{}", describe(.part, .fault))]
    Corrupt {
        /// The part that is invalid.
        part: Part,
        /// The fault, with the part's offset in the file.
        fault: FormatFault,
    },
    /// The file ends too early. The complete records before its end were written.
    #[error(
        "cut off at byte {length}, in {part}, which begins at byte {offset} (expected at least {missing} more bytes); \
         {records} complete records ({bytes} bytes) precede it"
    )]
    Cut {
        /// Length of the file in bytes.
        length: u64,
        /// The incomplete part.
        part: Part,
        /// Offset of the incomplete part.
        offset: u64,
        /// The number of missing bytes, as far as known.
        missing: u64,
        /// The number of complete records.
        records: u64,
        /// The bytes of content of the complete records.
        bytes: u64,
    },
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The requested range is not within the content.
    #[error("bytes {start} to {end} are not in the content (expected a range within its {size} bytes)")]
    Range {
        /// The first byte requested.
        start: u64,
        /// The end of the range.
        end: u64,
        /// The bytes of the content.
        size: u64,
    },
    /// The input could not be read.
    #[error("cannot read: {0}")]
    Input(#[source] io::Error),
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// A codec cannot be created or cannot compress: invalid parameters, a bug, or out of memory.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

impl Error {
    /// Reports a malformed part at byte `offset`.
    pub(crate) fn corrupt(part: Part, offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Corrupt { part, fault: FormatFault::new(offset, what, expected) }
    }

    /// Whether the file is at fault, rather than a limit or the system.
    pub fn is_of_file(&self) -> bool {
        matches!(self, Error::Corrupt { .. } | Error::Cut { .. })
    }
}

/// Returns the message for a fault. The message about another format names no part: a file of another format has none.
fn describe(part: &Part, fault: &FormatFault) -> String {
    match part {
        Part::Magic => format!("{}{}", fault.what, expectation(&fault.expected)),
        part => format!("{part}, {fault:#}"),
    }
}
