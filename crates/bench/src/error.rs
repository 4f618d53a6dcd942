//! Why a benchmark ended early.

use std::io;
use std::path::Path;

use packline_runtime::escape::Escape;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An invalid setting.
    #[error("{reason}")]
    Setting {
        setting: Setting,
        /// The fault, and the expected form.
        reason: String,
    },
    /// A run, a file or a comparison failed.
    #[error("{0}")]
    Failed(String),
    /// The benchmark ended because of a failure that [`crate::Outcome::failures`] already has.
    #[error("ended at a failure")]
    Stopped,
}

/// A setting that is checked when the benchmark starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// [`crate::Comparison::against`].
    Against,
    /// [`crate::Runs::memory`].
    Memory,
    /// [`crate::CodecSettings::limit`].
    Limit,
}

impl Error {
    pub(crate) fn failed(message: impl ToString) -> Error {
        Error::Failed(message.to_string())
    }

    pub(crate) fn setting(setting: Setting, reason: String) -> Error {
        Error::Setting { setting, reason }
    }

    /// The failure of a file operation: `cannot ACTION`.
    pub(crate) fn file(action: &str, path: &Path, cause: &io::Error) -> Error {
        Error::at(path, format!("cannot {action}: {cause}"))
    }

    pub(crate) fn at(path: &Path, cause: impl std::fmt::Display) -> Error {
        Error::Failed(format!("{}: {cause}", path.escaped()))
    }
}
