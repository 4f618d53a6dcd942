//! Why a search ended early.

use std::io;

/// Why a search ended early; `E` is the error of the one who takes the matches.
#[derive(Debug, thiserror::Error)]
pub enum FindError<E> {
    /// The window could not be read: the fault of the medium, or of whoever shortened it. The failure nearest to the
    /// window's beginning, however many threads were reading.
    #[error("{length} bytes at byte {at} of the window cannot be read")]
    Read {
        /// Where, in bytes from the beginning of the window.
        at: u64,
        /// How many bytes were wanted.
        length: usize,
        /// What the window said.
        source: io::Error,
    },
    /// `stop` said so.
    #[error("stopped before the search was over")]
    Stopped,
    /// The window is longer than [`WINDOW_MOST`](crate::WINDOW_MOST): the fault of the caller, who divides such an input.
    #[error("a window of {length} bytes is too long (at most {most} are searched at once)")]
    TooLong {
        /// The window's length in bytes.
        length: u64,
        /// The longest window in bytes.
        most: u64,
    },
    /// The one who takes the matches gave this error.
    #[error("{0}")]
    Taken(E),
}

/// Why a phase of the search ended early, before anyone who takes matches comes in.
#[derive(Debug)]
pub(crate) enum Broken {
    Read { at: u64, length: usize, source: io::Error },
    Stopped,
}

impl<E> From<Broken> for FindError<E> {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Read { at, length, source } => Self::Read { at, length, source },
            Broken::Stopped => Self::Stopped,
        }
    }
}
