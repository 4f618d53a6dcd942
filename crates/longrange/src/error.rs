//! Errors of a search.

use std::io;

/// Why a search ended early; `E` is the error of the consumer of the matches.
#[derive(Debug, thiserror::Error)]
pub enum FindError<E> {
    /// The window could not be read: a fault of the medium, or the file was truncated during the search. The failure nearest to the window's
    /// beginning, for any number of threads.
    #[error("{length} bytes at byte {at} of the window cannot be read")]
    Read {
        /// Offset in the window, bytes.
        at: u64,
        /// Bytes requested.
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
    Taken(E),
}

/// Why a phase of the search ended early, except for an error of the consumer of the matches.
#[derive(Debug)]
pub(crate) enum Broken {
    Read { at: u64, length: usize, source: io::Error },
    Stopped,
}

impl<E> From<Broken> for FindError<E> {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Read { at, length, source } => Self::Read { at, length, source },
            Broken::Stopped => Self::Cancelled,
        }
    }
}
