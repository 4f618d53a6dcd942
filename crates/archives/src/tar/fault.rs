//! Errors of one archive, with its name and the position.

use std::io;
use std::path::PathBuf;

use packline_tree::Error;

/// Maximum bytes of zeros at the end of an archive, or instead of one. A device of zeros has no end.
pub(crate) const ZEROS_MOST: u64 = 256 << 20;

/// The position of an error: the offset of the structure and, if known, the entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorPosition<'a> {
    pub input: &'a str,
    /// The entry's name. Empty if unknown.
    pub entry: &'a [u8],
    /// Offset of the structure in the archive (in the uncompressed tar) in bytes.
    pub offset: u64,
}

impl ErrorPosition<'_> {
    pub fn malformed(&self, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Malformed {
            input: self.input.to_owned(),
            entry: self.entry.to_vec(),
            offset: self.offset,
            what: what.into(),
            expected: expected.into(),
        }
    }

    /// The error for zeros that begin here and do not end.
    pub fn endless_zeros(&self) -> Error {
        self.malformed(format!("more than {ZEROS_MOST} bytes of zeros"), "the end of the input before")
    }
}

/// The error for an empty input instead of a tar: usually the program that should have written it has failed.
pub fn empty_input(input: &str) -> Error {
    Error::Input { input: input.to_owned(), what: "is empty".to_owned(), expected: "a tar".to_owned() }
}

/// The error of a failed read, also by a decoder.
pub(crate) fn unreadable(input: &str, cause: io::Error) -> Error {
    Error::Io { path: PathBuf::from(input), action: "cannot read", cause }
}
