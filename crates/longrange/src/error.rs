//! Errors of a search.

use std::io;

/// Why a search ended early; `E` is the error of the consumer of the matches.
#[derive(Debug, thiserror::Error)]
pub enum FindError<E> {
    /// The window could not be read: the medium failed, or the file was truncated during the search. With any number of threads, this is the
    /// failure at the lowest offset.
    #[error("{length} bytes at byte {at} of the window cannot be read")]
    Read {
        /// Offset in the window in bytes.
        at: u64,
        /// Number of bytes requested.
        length: usize,
        source: io::Error,
    },
    /// `stop` returned true.
    #[error("cancelled")]
    Cancelled,
    /// The window is longer than [`WINDOW_MOST`](crate::WINDOW_MOST): the caller must divide it.
    #[error("a window of {length} bytes is too long (at most {most} are searched at once)")]
    TooLong {
        length: u64,
        /// The longest window in bytes.
        most: u64,
    },
    /// The consumer of the matches returned this error.
    #[error("{0}")]
    Consumer(E),
}

/// Why a phase of the search ended early. Errors of the consumer of the matches are separate.
#[derive(Debug)]
pub(crate) enum PhaseError {
    Read { at: u64, length: usize, source: io::Error },
    Stopped,
}

impl<E> From<PhaseError> for FindError<E> {
    fn from(error: PhaseError) -> Self {
        match error {
            PhaseError::Read { at, length, source } => Self::Read { at, length, source },
            PhaseError::Stopped => Self::Cancelled,
        }
    }
}
