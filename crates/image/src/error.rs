//! Errors of operations on images. A message starts with the file and then says the problem.

use std::io;
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;
use packline_runtime::memory::Shortage;
use packline_runtime::{FailedOutput, MemoryFault, Problem, expectation};
use packline_volume::ReadError;

/// Why an operation failed. The existing output, if any, is then unchanged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call on the output failed.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Output {
        /// The output as the user named it.
        path: PathBuf,
        /// The failed action, as a phrase: `cannot create`.
        action: &'static str,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// The output cannot or must not be written, or the input cannot be read.
    #[error("{path}: {what}{}", expectation(.expected), path = path.escaped())]
    Target {
        /// The file as the user named it.
        path: PathBuf,
        /// The file's type or problem.
        what: String,
        /// Files that can be written or read instead; empty after a hint.
        expected: String,
    },
    /// The output exists, and replacing it was not requested.
    #[error(transparent)]
    Exists(#[from] packline_runtime::Exists),
    /// A system call on the source failed.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Source {
        /// The source as the user named it.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// An image could not be read.
    #[error("{}", name_read(.path, .entry.as_deref(), .cause))]
    Read {
        /// The image as the user named it.
        path: PathBuf,
        /// The affected entry, if the defect affects one.
        entry: Option<Vec<u8>>,
        /// The defect, with its offset.
        #[source]
        cause: Box<ReadError>,
    },
    /// A path in an image does not lead to an entry that can be read.
    #[error("{path}: {entry}: {fault} (expected {expected})", path = path.escaped(), entry = entry.escaped())]
    Entry {
        /// The image as the user named it.
        path: PathBuf,
        /// The path in the image.
        entry: Vec<u8>,
        /// The problem.
        fault: EntryFault,
        /// Paths that are valid.
        expected: &'static str,
    },
    /// The memory limit is too small. The user can change it.
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// A pattern is malformed, which is the user's error.
    #[error(transparent)]
    Pattern(#[from] packline_tree::PatternFault),
    /// The request contradicts itself or asks for something that does not exist, which is the user's error.
    #[error("{what}{}", expectation(.expected))]
    Request {
        /// The wrong part of the request, and the problem.
        what: String,
        /// Requests that are possible instead; empty after a hint.
        expected: String,
    },
}

/// Why a path in an image does not lead to an entry that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// The path does not exist.
    #[error("there is no such entry")]
    Missing,
    /// The path leads through more symbolic links than Linux would follow.
    #[error("too many symbolic links on the way")]
    TooManyLinks,
    /// The path leads to a directory.
    #[error("is a directory")]
    Directory,
    /// The path leads to a device, a named pipe or a socket.
    #[error("is not a regular file")]
    NotRegular,
    /// The path leads to an entry that is not a directory.
    #[error("is not a directory")]
    NotDirectory,
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
    /// Returns the error in the form for observers.
    pub(crate) fn as_problem(&self) -> Problem<'_> {
        let output = match self {
            Error::Output { path, action, cause } => Some(FailedOutput { path, action, cause }),
            _ => None,
        };
        Problem { error: self, output }
    }

    /// The error of a memory limit that is too small for `what`.
    pub fn memory(shortage: Shortage, what: String) -> Error {
        Error::Memory(shortage.of(what))
    }

    /// Returns the kind of an [`io::Error`] that holds this error: [`io::ErrorKind::InvalidData`] for a malformed image, or the kind of the
    /// operating system's error.
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
