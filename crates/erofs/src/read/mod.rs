//! Reads EROFS images of any origin, hostile ones included.
//!
//! An [`Image`] is opened on an [`Input`] and read lazily. All stored bytes have an address (`regions.rs`): the image and its devices are one space,
//! and the decoded metabox has addresses of its own. A `Store` reads them through a bounded cache. Contents are pieces, whatever their layout
//! (`contents.rs`); directories, long targets of links and the metabox are read through the same pieces. Inodes, listings and indexes are read
//! one item at a time, so that no number in the image determines an allocation.
//!
//! `volume.rs` implements [`Volume`](packline_volume::Volume) for an image: clusters of files are own units, clusters of the packed inode are
//! shared units, and content that is not compressed is read in plain units.

mod cache;
pub(crate) mod chunks;
mod compressed_pieces;
mod contents;
pub(crate) mod data;
mod decoder;
pub(crate) mod directory;
mod find;
pub(crate) mod flat;
mod image;
pub(crate) mod inode;
mod layout;
pub(crate) mod map;
mod packed;
mod plain_packed;
pub(crate) mod record;
mod regions;
mod sequence;
mod span;
mod store;
mod volume;
pub(crate) mod xattr;

pub use crate::format::device::DeviceSlot;
pub use crate::format::recorded_options::RecordedOptions;
pub use crate::format::superblock::{MAGIC_BYTES, SUPERBLOCK_START, Superblock, compat, incompat};
pub use crate::format::xattr::LongPrefix;
pub use find::find_image;
pub use image::{Image, OpenAt, has_magic};
pub use layout::{ExtentPlace, Extents, InodeLayout, StoredExtent};
pub use packline_runtime::Input;
pub use packline_volume::ReadError;
