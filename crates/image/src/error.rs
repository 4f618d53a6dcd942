//! Errors of operations on images: the file first, then what is wrong.

use std::io;
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;
use packline_runtime::memory::Shortage;
use packline_runtime::{FailedOutput, Problem};
use packline_volume::ReadError;

/// Why an operation failed. Under the name of an output there is then what was there before.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused something about the output.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Output {
        /// The output as the user named it.
        path: PathBuf,
        /// What was tried, as a phrase: `cannot create`.
        action: &'static str,
        /// The operating system's answer.
        #[source]
        cause: io::Error,
    },
    /// The output is something that cannot be, or must not be, written; or the input something that is not read.
    #[error("{path}: {what} (expected {expected})", path = path.escaped())]
    Target {
        /// The file as the user named it.
        path: PathBuf,
        /// What it is.
        what: String,
        /// What can be written or read instead.
        expected: String,
    },
    /// The output exists, and replacing it was not requested.
    #[error(transparent)]
    Exists(#[from] packline_runtime::Exists),
    /// The operating system refused something about the source.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Source {
        /// The source as the user named it.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's answer.
        #[source]
        cause: io::Error,
    },
    /// An image could not be read.
    #[error("{}", name_read(.path, .entry.as_deref(), .cause))]
    Read {
        /// The image as the user named it.
        path: PathBuf,
        /// The entry of it that is concerned, if it is one.
        entry: Option<Vec<u8>>,
        /// The defect, with its offset.
        #[source]
        cause: Box<ReadError>,
    },
    /// The memory that was allowed is not enough. The user's to change.
    #[error("{allowed} bytes of memory are not enough for {what} (expected at least {needed} bytes)")]
    Memory {
        /// Bytes allowed.
        allowed: u64,
        /// Smallest amount that works.
        needed: u64,
        /// For what.
        what: String,
    },
    /// A pattern is malformed. The user's fault.
    #[error(transparent)]
    Pattern(#[from] packline_tree::PatternFault),
    /// The request contradicts itself or asks for what does not exist. The user's fault.
    #[error("{what} (expected {expected})")]
    Request {
        /// The part of the request, and why it is refused.
        what: String,
        /// What can be asked for instead.
        expected: String,
    },
}

impl From<packline_runtime::Error> for Error {
    fn from(error: packline_runtime::Error) -> Error {
        match error {
            packline_runtime::Error::Output { path, action, cause } => Error::Output { path, action, cause },
            packline_runtime::Error::Target { path, what, expected } => Error::Target { path, what, expected },
            packline_runtime::Error::Exists(exists) => Error::Exists(exists),
        }
    }
}

impl Error {
    /// This error as an observer gets it.
    pub(crate) fn as_problem(&self) -> Problem<'_> {
        let output = match self {
            Error::Output { path, action, cause } => Some(FailedOutput { path, action, cause }),
            _ => None,
        };
        Problem { error: self, output }
    }

    /// A memory limit is too small for `what`.
    pub fn memory(shortage: Shortage, what: String) -> Error {
        Error::Memory { allowed: shortage.allowed, needed: shortage.needed, what }
    }

    /// The kind of an [`io::Error`] that holds this one: [`io::ErrorKind::InvalidData`] for a malformed image, the kind of the operating
    /// system's answer where it refused.
    pub fn io_kind(&self) -> io::ErrorKind {
        match self {
            Error::Output { cause, .. } | Error::Source { cause, .. } => cause.kind(),
            Error::Read { cause, .. } => match &**cause {
                ReadError::Corrupt { .. } => io::ErrorKind::InvalidData,
                ReadError::Input { cause, .. } => cause.kind(),
                _ => io::ErrorKind::Other,
            },
            _ => io::ErrorKind::Other,
        }
    }
}

fn name_read(path: &Path, entry: Option<&[u8]>, cause: &ReadError) -> String {
    match entry {
        Some(entry) => format!("{}: {}: {cause}", path.escaped(), entry.escaped()),
        None => format!("{}: {cause}", path.escaped()),
    }
}
