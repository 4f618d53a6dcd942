//! Reads SquashFS 4.0 images of any origin, hostile ones included.
//!
//! An [`Image`] is opened on an [`Input`] and read lazily: metadata blocks are decompressed when they are needed and kept in a
//! bounded cache (`metadata_cache.rs`); inodes, listings and block lists are read from it one item at a time, so that no allocation
//! follows a number in the image. [`Walk`] visits a tree without recursion, each directory once. Two names are one file if their
//! `InodeRef` is the same: inode numbers in an image may repeat.
//!
//! Contents are read in three ways: [`Reading`] decodes ahead on workers and returns bytes in the order of the requests; a
//! [`BlockDecoder`] decodes one block; `random.rs` serves any offset from any thread, for mounts.
//!
//! [`Reading`] decodes a fragment block at its first use and keeps it until its last, which a first pass determines
//! (`reading/uses.rs`). If not all fit into memory, the block needed last is evicted: written, decoded, to an unnamed temporary file
//! (`scratch.rs`), from which later files read their bytes. That file is bounded by 64 times the size of the image (or 64 MiB). Where it
//! cannot be made, written or read, the block is decoded again.

mod block;
pub(crate) mod data_check;
mod error;
mod find;
mod image;
mod inode;
pub(crate) mod inode_table;
mod inspect;
pub(crate) mod metadata;
mod metadata_cache;
mod random;
mod reading;
mod scratch;
mod stored_blocks;
mod walk;

pub use crate::format::directory::listing::{DirEntry, Listing};
pub use crate::format::superblock::{STREAMED_MAGIC, SUPERBLOCK_BYTES, Superblock};
pub use block::{Block, BlockDecoder, BlockPlace, Blocks};
pub use data_check::CheckScope;
pub use error::ReadError;
use find::find_superblock;
pub use image::{Image, Opening, Origin};
pub use inode::{DirData, FileData, Inode, InodeRef, Node, NodeType};
pub use inspect::{DirIndex, IndexEntry, ListingPlace, RawInode, TablePlace};
pub use packline_runtime::{FileInput, Input};
pub use random::{Files, OpenFile, RandomSettings};
pub use reading::{Chunk, DecodedBlocks, Event, FragmentCounts, FragmentUses, ReadSettings, Reading, Request};
pub use scratch::{Scratch, SpilledBlock};
pub use stored_blocks::{StoredBlock, StoredKind};
pub use walk::{MOST_DIRECTORIES, Visit, Walk};
