//! Writes an image: contents are cut, hashed, deduplicated, compressed on workers and written in order; then the metadata follows.
//!
//! 1. `feeder.rs` reads small contents into slabs (`slab.rs`), notes where workers read large ones, and cuts both into blocks, tail ends
//!    and holes. A slab holds one large block or many small pieces, so that a tiny file costs no hand-over of its own.
//! 2. Workers read what is not read yet, hash each piece, find zeros, and compute the anchors of tail ends (`work.rs`, `digest.rs`,
//!    `keyed_hash.rs`).
//! 3. `decision.rs` decides in the order of the input, from digests alone. `run_matcher.rs` checks whether the file so far equals a
//!    run of stored blocks (`blocks.rs` finds runs by a chained digest of their start, in constant time). While the file equals the run,
//!    nothing is stored. When the match ends, the matched blocks are copied as they are stored. A decision therefore waits neither for
//!    the end of a file nor for its bytes, and does not depend on memory. `fragments.rs` packs each tail end once, and not if it is a
//!    part of a recent tail end (`recent_tails.rs`).
//! 4. Workers compress blocks. Output buffers are reused.
//! 5. `data_writer.rs` writes results in the order of the decisions and records their positions. A fragment block gets its place in
//!    that order when it is full. `spacing.rs` decides on gaps.
//! 6. After the last entry `writer.rs` completes the block lists. `metadata_area.rs` then writes the tree from the deepest directories to
//!    the root, for each level first the inodes and then the listings (`numbering.rs`, `inode_table.rs`). The same workers compress the
//!    tables (`metadata.rs`, `pipeline_compressor.rs`). The fragment, export, id and xattr tables and padding follow. With
//!    verification `read_back.rs` then compares all bytes with their hashes (`written.rs`). The superblock is written last.

mod batch;
mod blocks;
mod data_writer;
mod decision;
mod digest;
mod feeder;
mod fragments;
mod ids;
mod inode_table;
mod keyed_hash;
pub(crate) mod metadata;
mod metadata_area;
pub(crate) mod numbering;
mod pipeline_compressor;
mod read_back;
#[cfg(test)]
mod read_back_tests;
mod recent_tails;
mod run_matcher;
mod slab;
mod spacing;
mod stored_data;
#[cfg(test)]
mod tests;
mod work;
mod writer;
mod written;

pub use decision::Saved;
pub use metadata::MetadataCompressor;
pub use metadata_area::{ImageEnd, write_metadata};
pub use read_back::ReadBack;
pub use writer::{Counts, Progress, Start, Summary, Writer, min_window};
