//! Errors of base images.

use packline_runtime::expectation;
use packline_runtime::memory::{size_at_least, size_at_most};

use crate::read::ReadError;

/// Why no block of an image can be reused.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The image cannot be read, or its metadata is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No block of the image fits into the new one.
    #[error("{what}{}", expectation(.expected))]
    Fit {
        /// The property of the image.
        what: String,
        /// The property of the new image; empty after a hint.
        expected: String,
    },
    /// Another encoder may have written the blocks. They fit, and can be reused on request.
    #[error("{what}{}", expectation(.expected))]
    Foreign {
        /// The property of the image.
        what: String,
        /// The encoder of the new image; empty for damage.
        expected: String,
    },
    /// The index of the blocks does not fit into memory.
    #[error(
        "its {blocks} blocks need more than {} of memory (expected at least {})",
        size_at_most(*allowed),
        size_at_least(*needed)
    )]
    Memory {
        /// Maximum number of blocks of the image.
        blocks: u64,
        /// Bytes for the index.
        allowed: u64,
        /// Bytes that suffice.
        needed: u64,
    },
}

impl BaseError {
    pub(super) fn fit(what: impl Into<String>, expected: impl Into<String>) -> BaseError {
        BaseError::Fit { what: what.into(), expected: expected.into() }
    }

    pub(super) fn foreign(what: impl Into<String>, expected: impl Into<String>) -> BaseError {
        BaseError::Foreign { what: what.into(), expected: expected.into() }
    }
}
