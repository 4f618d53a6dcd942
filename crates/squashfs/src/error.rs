//! Errors of writing an image.

use packline_runtime::TaskError;

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Source(#[from] packline_tree::Error),
    /// A codec failed, or its parameters are invalid.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    #[error("cannot {action} the image at byte {offset}: {cause}")]
    Sink {
        /// `write` or `read back`.
        action: &'static str,
        /// Offset in the image, bytes.
        offset: u64,
        #[source]
        cause: std::io::Error,
    },
    /// The input does not fit into the format.
    #[error("{what} (expected {expected})")]
    Limit {
        /// The value that is too large, and the entry's path where one is at fault.
        what: String,
        /// The format's limit.
        expected: String,
    },
    #[error("cancelled")]
    Cancelled,
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl TaskError for Error {
    fn cancelled() -> Error {
        Error::Cancelled
    }

    fn internal(what: String) -> Error {
        Error::Internal(what)
    }
}
