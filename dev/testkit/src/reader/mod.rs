//! A reader of SquashFS 4.0 images that finds faults: it shares no code with the writer under test except the codecs, reads every table and
//! every block, and lists each rule that an image breaks.
//!
//! The format is the one that Linux reads (Documentation/filesystems/squashfs.rst, fs/squashfs/squashfs_fs.h).

mod data;
mod directories;
mod disk;
mod image;
mod inodes;
mod metadata;
mod superblock;
mod tables;
mod tree;
mod xattrs;

pub use image::{Report, codec_of, inspect};
pub use superblock::Superblock;
