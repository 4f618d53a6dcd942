//! Errors of trees.

use std::io;

use packline_engine::Fault;
use packline_runtime::{MemoryFault, WorkFault, expectation, of_fault};

/// Why a tree could not be built, checked or signed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The image cannot be read.
    #[error("cannot read: {0}")]
    Image(#[source] io::Error),
    /// The tree cannot be read.
    #[error("cannot read the hash tree: {0}")]
    Tree(#[source] io::Error),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// The temporary file of the hashes cannot be written or read.
    #[error("temporary file of hashes: {0}")]
    Scratch(#[source] io::Error),
    /// A tree is impossible for this number of bytes.
    #[error("{bytes} bytes cannot have a hash tree (expected a multiple of 4096, at least one block)")]
    Size {
        /// Length of the image.
        bytes: u64,
    },
    /// The superblock is missing or invalid.
    #[error("{what}{}", expectation(.expected))]
    Superblock {
        /// The fault.
        what: String,
        /// The expected value; empty after a hint.
        expected: String,
    },
    /// A certificate is unusable, or does not belong to the key.
    #[error("{what} (expected {expected})")]
    Certificate {
        /// The fault.
        what: String,
        /// The accepted kinds.
        expected: &'static str,
    },
    /// A key is unusable.
    #[error("{what} (expected {expected})")]
    Key {
        /// The fault.
        what: String,
        /// The accepted kinds.
        expected: &'static str,
    },
    /// The memory limit is too low.
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// Cancelled, or a bug in this program.
    #[error(transparent)]
    Work(#[from] WorkFault),
}

impl From<Fault<Error>> for Error {
    fn from(fault: Fault<Error>) -> Error {
        of_fault(fault)
    }
}
