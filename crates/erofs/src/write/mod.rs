//! Writes an image: contents first, then the metadata, and the superblock last.
//!
//! 1. The data area (crate `blocks`) stores contents. `contents.rs` says what the metadata needs to know of it.
//! 2. The metadata is written in one pass, so all positions (`positions.rs`) are computed before. `order.rs` walks all inodes in their order. `inodes.rs`
//!    chooses the form of each inode, and `placer.rs` its position. Both are computed twice, once for the numbers of inodes, which entries of
//!    directories need, and once to write. Only the numbers are kept: 4 bytes for each inode.
//!    When the numbers are known, listings of directories may be compressed to the packed inode (`packed_listings.rs`).
//! 3. `metadata.rs` writes what has blocks of its own (parts of directories, long targets of links), then shared attributes (`xattrs.rs`), then
//!    all inodes with what follows them: attributes, ends of directories (`directory.rs`), maps of files (`map/`).
//! 4. A record (`record.rs`) says which encoder wrote the blocks.
//! 5. The superblock (`superblock.rs`) makes the image valid.
//!
//! Contents on a device (`device_writer.rs`) are not in the image: they are in a file of their own, or in a tar whose positions a source reports
//! (`tar_contents.rs`).

mod coder;
mod contents;
mod device_writer;
mod directory;
mod inode_area;
mod inodes;
mod layout_contents;
mod map;
mod metadata;
mod order;
mod output;
mod packed_listings;
mod placer;
mod positions;
mod record;
mod superblock;
mod tar_contents;
#[cfg(test)]
mod tests;
mod writer;
mod xattrs;
mod zeros;

pub(crate) use coder::encoder_form;
pub use device_writer::DeviceWriter;
pub use metadata::ImageEnd;
pub use writer::{Summary, Writer};
