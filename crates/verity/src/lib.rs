//! dm-verity hash trees, as `veritysetup format` writes them: built from bytes that are being written or from a file, checked, and signed.
//!
//! The crate knows no image format: a tree covers a number of blocks of 4 KiB. The tree is a superblock in its own block, then the levels,
//! the top first. Each level has the SHA-256 of salt and block for all blocks of the level below, 128 in a block, with zeros at the end of
//! the level. The root hash is the hash of the only block of the top level, or of the data itself if the data is one block.

#![warn(missing_docs)]

mod check;
mod error;
mod hashing;
mod incomplete;
mod layout;
mod leaves;
mod options;
mod signature;
mod sink;
mod superblock;
mod tree;

pub use check::{CheckResult, Finding, TreeLocation, check, find_appended, root_hash};
pub use error::Error;
pub use hashing::{Digest, hashing_demand, parse_root_hash, pass_demand};
pub use incomplete::{find_incomplete, incomplete_mark, refuse_incomplete};
pub use layout::{BLOCK, tree_size};
pub use leaves::{Leaves, hash_leaves};
pub use options::{Salt, Uuid};
pub use signature::Signer;
pub use sink::HashingSink;
pub use superblock::Superblock;
pub use tree::{Tree, write_tree};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
