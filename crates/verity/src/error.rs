//! Errors of trees.

use std::io;

use packline_engine::Fault;
use packline_runtime::{MemoryFault, WorkFault, of_fault};

/// Why a tree could not be made, checked or signed.
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
    /// The file of the leaves cannot be written or read.
    #[error("a temporary file of hashes: {0}")]
    Scratch(#[source] io::Error),
    /// No tree is possible for so many bytes.
    #[error("{bytes} bytes cannot have a hash tree (expected a multiple of 4096, at least one block)")]
    Size {
        /// Length of the image.
        bytes: u64,
    },
    /// There is no superblock, or one that makes no sense.
    #[error("{what} (expected {expected})")]
    Superblock {
        /// The fault.
        what: String,
        /// What should be there.
        expected: String,
    },
    /// A certificate is unusable, or not that of the key.
    #[error("{what} (expected {expected})")]
    Certificate {
        /// The fault.
        what: String,
        /// The kind that is needed.
        expected: &'static str,
    },
    /// A key is unusable.
    #[error("{what} (expected {expected})")]
    Key {
        /// The fault.
        what: String,
        /// The kind that is needed.
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
