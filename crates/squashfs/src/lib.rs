//! SquashFS 4.0 images: written in parallel, mounted by the Linux kernel. Images of earlier versions are read.
//!
//! - `format/` encodes and decodes each structure in one module.
//! - `write/` packs: `packline_blocks` writes the contents, then the tables follow. A `Layout` decides on gaps, the size of fragment blocks and
//!   the order of inodes. Blocks compress to the same bytes in each layout (docs/layout.md).
//! - `read/` opens images, hostile ones too, and reads their metadata on demand.
//! - `verify/` checks every byte.
//! - `base/` finds blocks of an earlier image. It decodes each block before the block can be reused. The record after an image's last table
//!   (docs/format/squashfs-record.md) says whether the blocks of the image are those of a clean build.

mod base;
mod format;
mod options;
pub mod read;
#[cfg(test)]
mod test_image;
pub mod verify;
mod write;

pub use base::{Base, BaseCounts, BaseError, BaseSettings};
pub use format::compressor::{CODECS, check_codec, codec_help, data_start, parse_codec};
pub use format::inode::device_number;
pub use format::superblock::{MAGIC_BYTES, MAGICS, Superblock, flags};
pub use format::wire::{METADATA_HEADER, encode_metadata};
pub use format::xattr::XattrTable;
pub use options::{DirectoryLinks, Options, Stored};
pub use packline_blocks::{
    Align, BlockSize, Counts, DataLayout, Error, FileHints, FileLayout, FragmentBlock, Fragments, Layout, Override,
    Progress, ReadBack, STORED_BLOCK, Saved, Sink, Start, TailPlace, min_window,
};
pub use write::{ImageEnd, MetadataCompressor, Summary, Writer, write_metadata};
