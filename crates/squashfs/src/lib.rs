//! SquashFS 4.0 images: written in parallel, mounted by the Linux kernel.
//!
//! - `format/` encodes and decodes each structure in one module.
//! - `write/` packs. A file whose blocks are any run of stored blocks uses those blocks, and a tail end that is a part of a recent tail end points
//!   into it. A `Layout` decides on gaps, the size of fragment blocks and the order of inodes; blocks compress to the same bytes in each layout
//!   (docs/layout.md).
//! - `read/` opens hostile images, and reads their metadata on demand.
//! - `verify/` checks every byte.
//! - `base/` finds blocks of an earlier image. All blocks are decoded when the image is opened, or when it is read as a source, so that no block is
//!   taken unseen. The record after an image's last table (docs/format/squashfs-record.md) says whether its blocks are those of a clean build.

mod base;
mod block_size;
mod error;
mod format;
mod options;
pub mod read;
#[cfg(test)]
mod test_image;
pub mod verify;
mod write;

pub use base::{Base, BaseCounts, BaseError, BaseSettings};
pub use block_size::BlockSize;
pub use error::Error;
pub use format::compressor::{CODECS, check_codec, codec_help, data_start, parse_codec};
pub use format::inode::device_number;
pub use format::layout::{DataLayout, FileLayout, FragmentBlock, STORED_BLOCK, TailPlace};
pub use format::superblock::{MAGIC_BYTES, Superblock, flags};
pub use format::wire::{METADATA_HEADER, encode_metadata};
pub use format::xattr::XattrTable;
pub use options::{Align, DirectoryLinks, FileHints, Fragments, Layout, Options, Override, Stored};
pub use packline_runtime::Sink;
pub use write::{
    Counts, ImageEnd, MetadataCompressor, Progress, ReadBack, Saved, Start, Summary, Writer, min_window, write_metadata,
};
