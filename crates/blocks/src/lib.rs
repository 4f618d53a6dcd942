//! The data area of a file system image: contents are cut, hashed, deduplicated, compressed on workers and written in order.
//!
//! A container (SquashFS, EROFS) says in [`DataOptions`] how contents are stored, and gives a [`Coders`] that makes its encoders. It feeds
//! files to a [`DataArea`], and gets a [`DataLayout`] with the place of each file. It then writes its metadata with the same workers
//! ([`Workers`]), has all bytes read back, and writes its superblock.
//!
//! 1. `feeder.rs` reads small contents into slabs (`slab.rs`), notes where workers read large ones, and cuts both into blocks, tail ends
//!    and holes. A slab holds one large block or many small pieces, so that a tiny file costs no hand-over of its own.
//! 2. Workers read what is not read yet, hash each piece, find zeros, and compute the anchors of tail ends (`work.rs`, `digest.rs`,
//!    `keyed_hash.rs`).
//! 3. `decision.rs` decides in the order of the input, from digests alone. With [`Sharing::Runs`], `run_matcher.rs` checks whether the
//!    file so far equals a run of stored blocks (`blocks.rs` finds runs by a chained digest of their start, in constant time). While the
//!    file equals the run, nothing is stored. When the match ends, the matched blocks are copied as they are stored. With
//!    [`Sharing::Blocks`], `block_matcher.rs` looks each block up. A decision therefore waits neither for the end of a file nor for its bytes,
//!    and does not depend on memory. `fragments.rs` packs each tail end once, and not if it is a part of a recent tail end
//!    (`recent_tails.rs`). A container may keep tail ends for its metadata instead (`kept_tails.rs`), or ends of files as they are stored
//!    ([`KeepEnds`]).
//! 4. Workers compress blocks. Output buffers are reused.
//! 5. `data_writer.rs` writes results in the order of the decisions and records their positions. A fragment block gets its place in
//!    that order when it is full. `spacing.rs` decides on gaps.
//! 6. After the last entry `area.rs` completes the layout. The workers then compress content that follows the data area (`late_content.rs`). With verification, `read_back.rs` later compares all bytes of the image with
//!    their hashes (`written.rs`).
#![forbid(unsafe_code)]

mod area;
mod batch;
mod block_matcher;
mod block_size;
mod blocks;
mod coder;
mod data_writer;
mod decision;
mod digest;
mod error;
mod feeder;
mod fragments;
mod kept_tails;
mod keyed_hash;
mod late_content;
mod layout;
mod options;
mod read_back;
mod recent_tails;
mod run_matcher;
mod slab;
mod spacing;
mod start;
mod stored_data;
#[cfg(test)]
mod tests;
mod work;
mod workers;
mod written;
mod xattr_sets;

pub use area::{CompleteData, DataArea, MEMORY_CHECK, TreeMemory, min_window};
pub use block_size::BlockSize;
pub use coder::{BlockContent, Coder, Coders};
pub use data_writer::write;
pub use decision::Saved;
pub use digest::hash;
pub use error::Error;
pub use kept_tails::{KeepTails, KeptTails};
pub use late_content::{LateBlock, LateContent};
pub use layout::{
    BlockPlace, BlockTable, Cluster, DataLayout, Extent, FileLayout, FragmentBlock, STORED_BLOCK, TailPlace,
};
pub use options::{Align, ClusterSize, DataOptions, FileHints, Fragments, KeepEnds, Layout, Override, Sharing};
pub use packline_runtime::Sink;
pub use read_back::{ReadBack, block_at};
pub use start::{Counts, Progress, Start};
pub use stored_data::report_data;
pub use workers::Workers;
pub use written::{Form, Hashes, Part, Written};
pub use xattr_sets::XattrSets;
