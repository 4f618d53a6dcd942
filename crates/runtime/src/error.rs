//! Errors of outputs and of memory limits.

use std::io;
use std::path::{Path, PathBuf};

use crate::escape::Escape;
use crate::fault::expectation;

/// Why an output cannot be written, or work cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An operation on the output failed.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Output {
        /// The output as the user named it.
        path: PathBuf,
        /// The failed operation, as a phrase: `cannot create`.
        action: &'static str,
        #[source]
        cause: io::Error,
    },
    /// The output cannot or must not be written.
    #[error("{path}: {what}{}", expectation(.expected), path = path.escaped())]
    Target {
        /// The output as the user named it.
        path: PathBuf,
        /// The reason, with the path as its subject: `is a directory`.
        what: String,
        /// A valid output.
        expected: String,
    },
    /// The output exists, and replacing it was not requested.
    #[error(transparent)]
    Exists(#[from] Exists),
}

/// An output that exists, and is replaced only on request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Exists {
    /// A file or a block device.
    #[error("{path}: already exists", path = .0.escaped())]
    File(PathBuf),
    /// A directory with entries.
    #[error("{path}: is not empty", path = .0.escaped())]
    Directory(PathBuf),
}

/// An error of a temporary file, inside an [`io::Error`] of the same kind.
#[derive(Debug, thiserror::Error)]
#[error("{cause}, in the directory of temporary files {directory}", directory = .directory.escaped())]
pub struct ScratchError {
    /// The directory of [`crate::Resources::scratch`].
    pub directory: PathBuf,
    #[source]
    pub cause: io::Error,
}

impl ScratchError {
    /// Adds the directory to an error.
    pub fn wrap(directory: &Path, cause: io::Error) -> io::Error {
        io::Error::new(cause.kind(), ScratchError { directory: directory.to_path_buf(), cause })
    }

    /// Whether an error is an error of a temporary file, or is caused by one.
    pub fn is_cause_of(error: &(dyn std::error::Error + 'static)) -> bool {
        let io = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        io.is_some_and(|inner| inner.is::<ScratchError>()) || error.source().is_some_and(ScratchError::is_cause_of)
    }
}

/// A write to a file that failed. It may be far before the last requested write.
#[derive(Debug, thiserror::Error)]
#[error("{cause}, writing {bytes} bytes at byte {offset}")]
pub struct WriteError {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Bytes that were to be written.
    pub bytes: usize,
    pub cause: io::Error,
}

impl WriteError {
    /// Whether an error names the offset of the write that failed.
    pub fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| {
            inner.is::<WriteError>()
                || inner.downcast_ref::<ScratchError>().is_some_and(|scratch| WriteError::is_in(&scratch.cause))
        })
    }
}

impl Error {
    pub(crate) fn output(path: &Path, action: &'static str, cause: io::Error) -> Error {
        Error::Output { path: path.to_path_buf(), action, cause }
    }

    pub(crate) fn target(path: &Path, what: impl Into<String>, expected: impl Into<String>) -> Error {
        Error::Target { path: path.to_path_buf(), what: what.into(), expected: expected.into() }
    }
}
