//! SquashFS 4.0 images: written in parallel, mounted by the Linux kernel.

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
pub use options::{DirectoryLinks, FileHints, Fragments, Layout, Options, Stored};
pub use packline_runtime::Sink;
pub use write::{
    Counts, ImageEnd, MetadataCompressor, Progress, ReadBack, Saved, Start, Summary, Writer, min_window, write_metadata,
};
