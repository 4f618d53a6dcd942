//! The structures of SquashFS 4.0 as bytes. One module encodes and decodes each structure.

pub(crate) mod compressor;
pub(crate) mod directory;
pub(crate) mod inode;
pub(crate) mod record;
pub(crate) mod superblock;
pub(crate) mod tables;
pub(crate) mod wire;
pub(crate) mod xattr;
