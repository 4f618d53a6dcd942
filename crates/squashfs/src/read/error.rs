//! Errors of reading an image.

use std::sync::Arc;

use packline_runtime::TaskError;

/// Why an image, or a part of it, could not be read. Offsets count from the first byte of the image (its superblock).
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The image breaks a rule of the format.
    #[error("{what} at byte {offset} (expected {expected})")]
    Corrupt {
        /// Offset of the faulty structure, bytes.
        offset: u64,
        /// Description of the fault, with the value found.
        what: String,
        /// Description of valid content.
        expected: String,
    },
    /// The image uses an unsupported feature (a version, a compressor).
    #[error("{what} (expected {expected})")]
    Unsupported {
        what: String,
        /// Supported values.
        expected: String,
    },
    /// A system call failed.
    #[error("cannot read at byte {offset}: {cause}")]
    Input {
        /// Offset, bytes.
        offset: u64,
        #[source]
        cause: Arc<std::io::Error>,
    },
    #[error("cancelled")]
    Cancelled,
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl ReadError {
    pub(crate) fn corrupt(offset: u64, what: impl Into<String>, expected: impl Into<String>) -> ReadError {
        ReadError::Corrupt { offset, what: what.into(), expected: expected.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>, expected: impl Into<String>) -> ReadError {
        ReadError::Unsupported { what: what.into(), expected: expected.into() }
    }

    pub(crate) fn input(offset: u64, cause: std::io::Error) -> ReadError {
        ReadError::Input { offset, cause: Arc::new(cause) }
    }
}

impl TaskError for ReadError {
    fn cancelled() -> ReadError {
        ReadError::Cancelled
    }

    fn internal(what: String) -> ReadError {
        ReadError::Internal(what)
    }
}
