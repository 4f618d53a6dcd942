//! Reads SquashFS images of any origin, hostile ones included: version 4.0, and as far as other programs read them the versions 1.0 to 3.1, in both
//! byte orders. A [`Layout`] says what an image is; all versions are read into the same nodes.
//!
//! An [`Image`] is opened on an [`Input`] and read lazily. Metadata blocks are decompressed when they are needed and kept in a bounded cache
//! (`metadata_cache.rs`). Inodes, listings and block lists are read one item at a time, so that no number in the image determines an allocation.
//! Two names are one file if their `InodeRef` is the same; inode numbers in an image may repeat.
//!
//! `volume.rs` implements [`Volume`](packline_volume::Volume) for an image: data blocks are own units, fragment blocks are shared units. Trees
//! are walked through the volume, and contents are read through it in order or at random. A [`BlockDecoder`] decodes one block.

mod block;
mod coding;
mod find;
mod ids;
mod image;
pub(crate) mod inode;
mod inspect;
pub(crate) mod metadata;
mod metadata_cache;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod reading_tests;
mod stored_blocks;
mod volume;

pub use crate::format::directory::listing::Listing;
pub use crate::format::layout::{ByteOrder, Layout};
pub use crate::format::superblock::{MAGICS, STREAMED_MAGIC, SUPERBLOCK_BYTES, Superblock};
pub use block::{Block, BlockDecoder, BlockPlace, Blocks};
pub use find::find_superblock;
pub use image::Image;
pub use inode::{DirData, FileData, Inode, InodeRef, Node};
pub use inspect::{DirIndex, IndexEntry, ListingPlace, RawInode, TablePlace};
pub use packline_runtime::{FileInput, Input};
pub use packline_volume::{BlockListener, CheckScope, DirEntry, NodeType, Opening, Origin, ReadError, ReadSettings};
pub use stored_blocks::{StoredBlock, StoredKind};
