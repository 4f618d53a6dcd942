//! Errors of one tar: the input's name is known once, so a fault is made from place, finding and expectation.

use std::io;
use std::path::PathBuf;

use crate::Error;

/// Where in the input something was found: the offset of the structure and, where known, the entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The name of the input.
    pub input: &'a str,
    /// The entry's name, empty if unknown.
    pub entry: &'a [u8],
    /// Offset of the structure in the uncompressed tar, bytes.
    pub offset: u64,
}

impl Place<'_> {
    /// A malformed structure here.
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

/// An input that holds no bytes where a tar is expected: the program that should have written it has failed.
pub fn empty_input(input: &str) -> Error {
    let place = Place { input, entry: &[], offset: 0 };
    place.malformed("is empty: it ends", "a tar: at least one block of 512 bytes")
}

/// The reader under the tar failed; a decoder's error comes this way too.
pub(super) fn unreadable(input: &str, cause: io::Error) -> Error {
    Error::Io { path: PathBuf::from(input), action: "cannot read", cause }
}
