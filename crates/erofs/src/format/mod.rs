//! The structures of an image: one module each, which decodes and checks the bytes, and encodes them.
//!
//! All numbers are little-endian. A block is the unit of addresses: 512 bytes to 64 KiB, as the superblock says.

pub(crate) mod algorithms;
pub(crate) mod chunk;
pub(crate) mod cluster;
pub(crate) mod compact_index;
pub(crate) mod device;
pub(crate) mod dirent;
pub(crate) mod extents;
pub(crate) mod full_index;
pub(crate) mod inode;
pub(crate) mod kernel;
pub(crate) mod map_header;
pub(crate) mod record;
pub(crate) mod recorded_options;
pub(crate) mod superblock;
#[cfg(test)]
pub(crate) mod test_indexes;
mod wire;
pub(crate) mod xattr;

use packline_volume::ReadError;

/// Set in the address of a byte of the metabox, which is the content of an inode that has metadata. All other addresses are bytes of the image
/// and its devices.
pub(crate) const METABOX: u64 = 1 << 63;

/// Returns the fault of a structure at an address.
pub(crate) fn corrupt(address: u64, what: impl Into<String>, expected: impl Into<String>) -> ReadError {
    if address & METABOX == 0 {
        return ReadError::corrupt(address, what, expected);
    }
    ReadError::corrupt(address & !METABOX, format!("{} in the metabox", what.into()), expected)
}
