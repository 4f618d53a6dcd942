//! SquashFS 4.0 images: written by the ordered line, mounted by the Linux kernel.

mod area;
mod batch;
mod blocks;
mod buffer;
mod codecs;
mod compressor;
mod compressor_decode;
mod decision;
mod digest;
mod directory;
mod error;
mod fault;
mod feeder;
mod fragments;
mod ids;
mod inode;
mod inode_table;
mod layout;
mod line_press;
mod matching;
mod metadata;
mod metadata_area;
mod numbering;
mod options;
#[cfg(test)]
mod packed;
mod press;
pub mod read;
mod sink;
mod slab;
mod superblock;
mod tables;
pub mod verify;
mod wire;
mod work;
mod writer;
#[cfg(test)]
mod writer_tests;
mod xattr;

pub use codecs::{CODECS, check_codec, codec_help, parse_codec};
pub use compressor::{compressor_id, data_start, options_block};
pub use decision::Saved;
pub use error::Error;
pub use inode::device_number;
pub use layout::{DataLayout, FileLayout, FragmentBlock, STORED_BLOCK, TailPlace};
pub use metadata_area::{ImageEnd, write_metadata};
pub use options::{
    DEFAULT_BLOCK_SIZE, DirectoryLinks, FileHints, Fragments, MAX_BLOCK_SIZE, MIN_BLOCK_SIZE, Options, Stored,
};
pub use press::Press;
pub use sink::Sink;
pub use superblock::Superblock;
pub use writer::{Counts, Crew, Progress, Start, Summary, Writer, line_minimum};
pub use xattr::XattrTable;
