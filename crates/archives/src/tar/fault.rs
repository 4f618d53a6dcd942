//! Errors of one tar with its name and position.

use std::io;
use std::path::PathBuf;

use packline_tree::Error;

/// Position of an error: the offset of the structure and, where known, the entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub input: &'a str,
    /// The entry's name, empty if unknown.
    pub entry: &'a [u8],
    /// Offset of the structure in the uncompressed tar, bytes.
    pub offset: u64,
}

impl Place<'_> {
    pub fn malformed(&self, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Malformed {
            input: self.input.to_owned(),
            entry: self.entry.to_vec(),
            offset: self.offset,
            what: what.into(),
            expected: expected.into(),
        }
    }
}

/// The error for an empty input where a tar is expected: usually the program that should have written it failed.
pub fn empty_input(input: &str) -> Error {
    let place = Place { input, entry: &[], offset: 0 };
    place.malformed("is empty: it ends", "a tar: at least one block of 512 bytes")
}

/// The error of a failed read; errors of decoders arrive here too.
pub(super) fn unreadable(input: &str, cause: io::Error) -> Error {
    Error::Io { path: PathBuf::from(input), action: "cannot read", cause }
}
