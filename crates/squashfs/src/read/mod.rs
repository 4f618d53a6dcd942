//! Reading SquashFS 4.0: any image, however it was made, and whatever it is made to do.
//!
//! An [`Image`] is opened on an [`Input`] and read lazily: metadata blocks are decompressed when they are needed and kept in a
//! bounded cache. Trees are walked with [`Walk`]; contents come through [`Reading`], which decodes ahead on workers and hands out
//! bytes in the order they were asked for, or block by block through a [`BlockDecoder`].

mod block;
mod error;
mod find;
mod image;
mod inode;
mod inspect;
pub(crate) mod metadata;
mod metadata_cache;
mod random;
mod reading;
mod scratch;
mod walk;

pub use crate::format::directory::listing::{DirEntry, Listing};
pub use block::{Block, BlockDecoder, BlockPlace, Blocks};
pub use error::ReadError;
pub use find::find_image;
pub use image::{Image, Opening, Origin};
pub use inode::{DirData, FileData, Inode, InodeRef, Node, NodeType};
pub use inspect::{DirIndex, IndexEntry, ListingPlace, RawInode, TablePlace};
pub use packline_runtime::{FileInput, Input};
pub use random::{Files, OpenFile, RandomSettings};
pub use reading::{Chunk, Event, FragmentCounts, FragmentUses, ReadSettings, Reading, Request};
pub use scratch::{Scratch, Stowed};
pub use walk::{MOST_DIRECTORIES, Visit, Walk};
