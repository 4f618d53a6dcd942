//! The structures of SquashFS 4.0 as bytes. One module encodes and decodes each structure. `head.rs` and the modules `old` decode the structures of
//! versions before 4.0, with the fields of `layout.rs`.

pub(crate) mod compressor;
pub(crate) mod directory;
pub(crate) mod head;
pub(crate) mod inode;
pub(crate) mod layout;
pub(crate) mod record;
pub(crate) mod superblock;
pub(crate) mod tables;
pub(crate) mod wire;
pub(crate) mod xattr;
