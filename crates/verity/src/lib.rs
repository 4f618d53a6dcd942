//! dm-verity hash trees, as `veritysetup format` writes them: made of bytes that pass or of a file, checked, and their root hashes signed.
//!
//! Knows no image format: a tree is about so many blocks of 4 KiB. The tree is a superblock in a block of its own, then the levels, the
//! top first; each level is the SHA-256 of salt and block for all blocks of the level below, 128 in a block, with zeros at its end. The
//! root hash is the hash of the one block of the top level, or of the data itself if that is one block.

#![warn(missing_docs)]

mod check;
mod error;
mod hashing;
mod incomplete;
mod layout;
mod leaves;
mod options;
mod salted;
mod signature;
mod sink;
mod superblock;
mod text;
mod tree;

pub use check::{Checked, Finding, TreePlace, check, find_appended, root_hash};
pub use error::Error;
pub use hashing::{hashing_demand, pass_demand};
pub use incomplete::{find_incomplete, incomplete_mark, refuse_incomplete};
pub use layout::{BLOCK, tree_size};
pub use leaves::{Leaves, leaves_of};
pub use options::{Salt, Uuid};
pub use salted::Digest;
pub use signature::Signer;
pub use sink::HashingSink;
pub use superblock::Superblock;
pub use text::parse_root_hash;
pub use tree::{Tree, write_tree};
