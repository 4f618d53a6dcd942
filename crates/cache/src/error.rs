//! Errors of a cache.

use std::io;
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;

/// Why a cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An operation of the file system failed.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Io {
        path: PathBuf,
        /// The failed operation, as a phrase: `cannot create`.
        action: &'static str,
        #[source]
        cause: io::Error,
    },
    /// The directory has other content.
    #[error("{path}: is not a block cache (expected an empty directory, or a directory with CACHEDIR.TAG and v1)", path = .0.escaped())]
    NotACache(PathBuf),
}

impl Error {
    pub(crate) fn io(path: &Path, action: &'static str, cause: io::Error) -> Error {
        Error::Io { path: path.to_path_buf(), action, cause }
    }
}
