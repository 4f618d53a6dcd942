//! Writes an image: `packline_blocks` writes the contents, then the metadata follows.
//!
//! After the last entry the data area completes the block lists. `metadata_area.rs` then writes the tree from the deepest directories to the root,
//! for each level first the inodes and then the listings (`numbering.rs`, `inode_table.rs`). The workers of the data compress the tables, too
//! (`metadata.rs`, `coder.rs`). The fragment, export, id and xattr tables and padding follow. With verification, all bytes are then compared with
//! their hashes. The superblock is written last.

mod coder;
mod ids;
mod inode_table;
pub(crate) mod metadata;
mod metadata_area;
pub(crate) mod numbering;
mod read_back;
#[cfg(test)]
mod read_back_tests;
#[cfg(test)]
mod tests;
mod writer;

pub use metadata::MetadataCompressor;
pub use metadata_area::{ImageEnd, write_metadata};
pub use writer::{Summary, Writer};
