//! Errors of sealing and opening.

use std::fmt;
use std::io;

use packline_runtime::{FormatFault, MemoryFault, Unsupported, WorkFault, expectation};

use crate::MadeFor;

/// A part of a sealed file. Numbers count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The head, without the wrapped keys.
    Head,
    /// A wrapped key.
    Wrap(usize),
    Chunk(u64),
    /// Sealed chunks, from the first to the last.
    Chunks(u64, u64),
    /// The padding after the content.
    Padding,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Head => f.write_str("the head of the encryption"),
            Part::Wrap(number) => write!(f, "wrapped key {number}"),
            Part::Chunk(number) => write!(f, "encrypted chunk {number}"),
            Part::Chunks(first, last) => write!(f, "encrypted chunks {first} to {last}"),
            Part::Padding => f.write_str("the padding of the encryption"),
        }
    }
}

/// Why a file cannot be sealed or opened. No variant holds a key or a passphrase.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of the file is invalid: damaged, or replaced.
    #[error("{part}, {fault:#}")]
    Corrupt {
        part: Part,
        /// The fault, with the part's offset in the file.
        fault: FormatFault,
    },
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    #[error("encrypted for {0}, and no key was given")]
    NoKey(MadeFor),
    /// None of the given keys opens the file.
    #[error("encrypted for {0}, and none of the given keys opens it")]
    WrongKey(MadeFor),
    /// The user was asked for the passphrase of the file, and no answer was right.
    #[error("wrong passphrase")]
    WrongPassphrase,
    /// The user was asked for the passphrase of a key, and no answer was right.
    #[error("wrong passphrase for {0}")]
    WrongPassphraseOf(String),
    /// A passphrase of the file needs more work than is allowed.
    #[error("a passphrase with the scrypt work factor 2^{found} (expected at most 2^{most})")]
    WorkFactor {
        /// Binary logarithm of the work factor.
        found: u8,
        /// Binary logarithm of the highest allowed work factor.
        most: u8,
    },
    /// A key or a list of keys is malformed or of an unsupported kind.
    #[error("{what}{}", expectation(.expected))]
    Key {
        /// The fault, without the key.
        what: String,
        /// Description of the accepted kinds; empty after a hint.
        expected: String,
    },
    /// The input could not be read.
    #[error("cannot read: {0}")]
    Input(#[source] io::Error),
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// The system returned no random bytes.
    #[error("cannot get random bytes for a key: {0}")]
    Randomness(String),
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

impl Error {
    pub(crate) fn corrupt(part: Part, offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Corrupt { part, fault: FormatFault::new(offset, what, expected) }
    }

    pub(crate) fn key(what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Key { what: what.into(), expected: expected.into() }
    }

    /// Whether the file is at fault, rather than a key, a limit or the system.
    pub fn is_of_file(&self) -> bool {
        matches!(self, Error::Corrupt { .. })
    }

    /// Converts the error for a reader or a writer. [`Error::from_io`] reverses it.
    pub fn into_io(self) -> io::Error {
        match self {
            Error::Input(cause) | Error::Output(cause) => cause,
            error if error.is_of_file() => io::Error::new(io::ErrorKind::InvalidData, error),
            error => io::Error::other(error),
        }
    }

    /// Returns the error of this crate in an error of a reader or a writer.
    pub fn in_io(cause: &io::Error) -> Option<&Error> {
        cause.get_ref()?.downcast_ref()
    }

    /// Takes the error of this crate out of an error of a reader or a writer.
    ///
    /// # Errors
    /// Returns `cause` if it does not contain an error of this crate.
    pub fn from_io(cause: io::Error) -> Result<Error, io::Error> {
        if Error::in_io(&cause).is_none() {
            return Err(cause);
        }
        let kind = cause.kind();
        match cause.into_inner().map(|inner| inner.downcast::<Error>()) {
            Some(Ok(error)) => Ok(*error),
            Some(Err(other)) => Err(io::Error::new(kind, other)),
            None => Err(kind.into()),
        }
    }
}
