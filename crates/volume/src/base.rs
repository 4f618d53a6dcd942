//! Base images: earlier images whose blocks are reused. Each container reads its own.

use std::sync::atomic::{AtomicU64, Ordering};

use packline_engine::Config;
use packline_runtime::expectation;
use packline_runtime::memory::{size_at_least, size_at_most};

use crate::ReadError;

/// How a base image is opened.
#[derive(Debug, Clone, Default)]
pub struct BaseSettings {
    /// Whether blocks of other encoders are reused, too. The bytes of the new image may then differ from those without a base.
    pub any: bool,
    /// Most bytes of memory for the index of the blocks; `None` for no limit.
    pub memory: Option<u64>,
    /// Workers and memory for reading the base.
    pub engine: Config,
}

/// How the blocks of a base were used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaseCounts {
    /// Usable blocks of the base, each content once.
    pub blocks: u64,
    /// Blocks of the new image that came from the base.
    pub taken: u64,
    /// Compressed bytes of the blocks that came from the base.
    pub taken_bytes: u64,
    /// Blocks that could not be decoded, and were not reused.
    pub damaged: u64,
    /// Blocks that changed after they were decoded, and were not reused.
    pub changed: u64,
    /// Whether the encoder would have written the same blocks.
    pub exact: bool,
}

impl BaseCounts {
    /// Returns the sums of two bases.
    #[must_use]
    pub fn and(self, other: BaseCounts) -> BaseCounts {
        BaseCounts {
            blocks: self.blocks + other.blocks,
            taken: self.taken + other.taken,
            taken_bytes: self.taken_bytes + other.taken_bytes,
            damaged: self.damaged + other.damaged,
            changed: self.changed + other.changed,
            exact: self.exact && other.exact,
        }
    }
}

/// Counts the blocks of a base that are reused, on any thread.
#[derive(Debug, Default)]
pub struct BaseUses {
    taken: AtomicU64,
    taken_bytes: AtomicU64,
    changed: AtomicU64,
}

impl BaseUses {
    /// Counts a block of `stored` bytes that was reused.
    pub fn taken(&self, stored: u32) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.taken_bytes.fetch_add(stored.into(), Ordering::Relaxed);
    }

    /// Counts a block that changed after it was decoded.
    pub fn changed(&self) {
        self.changed.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether no block was reused.
    pub fn is_none(&self) -> bool {
        self.taken.load(Ordering::Relaxed) == 0
    }

    /// Returns the counts of a base with a number of usable blocks, and of blocks that could not be decoded.
    pub fn counts(&self, blocks: u64, damaged: u64, exact: bool) -> BaseCounts {
        BaseCounts {
            blocks,
            taken: self.taken.load(Ordering::Relaxed),
            taken_bytes: self.taken_bytes.load(Ordering::Relaxed),
            damaged,
            changed: self.changed.load(Ordering::Relaxed),
            exact,
        }
    }
}

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
    /// Returns [`BaseError::Fit`].
    pub fn fit(what: impl Into<String>, expected: impl Into<String>) -> BaseError {
        BaseError::Fit { what: what.into(), expected: expected.into() }
    }

    /// Returns [`BaseError::Foreign`].
    pub fn foreign(what: impl Into<String>, expected: impl Into<String>) -> BaseError {
        BaseError::Foreign { what: what.into(), expected: expected.into() }
    }
}
