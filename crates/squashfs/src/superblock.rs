//! The superblock: the first 96 bytes of an image.
//!
//! SquashFS 4.0, all numbers little-endian: magic u32, inodes u32, creation time u32, block size u32, fragments u32,
//! compressor u16, log2 of the block size u16, flags u16, ids u16, version 4.0 as two u16, then u64 each: root inode
//! reference, bytes used, start of the id, xattr, inode, directory, fragment and export tables. A table that is missing
//! starts at [`NO_TABLE`].

use packline_codec::Spec;

use crate::wire::Put;
use crate::{Fragments, Options};

/// Length of the superblock, bytes.
pub(crate) const SUPERBLOCK_BYTES: u64 = 96;
/// The start of a table that the image does not have.
pub(crate) const NO_TABLE: u64 = u64::MAX;

const MAGIC: u32 = 0x7371_7368;

/// What the flags word says. The kernel looks at [`flags::OPTIONS`] only; the others inform tools and people.
pub(crate) mod flags {
    /// The inode table is stored, not compressed.
    pub(crate) const STORED_INODES: u16 = 1;
    /// Data blocks are stored.
    pub(crate) const STORED_DATA: u16 = 1 << 1;
    /// Fragment blocks are stored.
    pub(crate) const STORED_FRAGMENTS: u16 = 1 << 3;
    /// Tail ends are not packed into fragment blocks.
    pub(crate) const NO_FRAGMENTS: u16 = 1 << 4;
    /// Tail ends of files larger than a block are packed too.
    pub(crate) const ALWAYS_FRAGMENTS: u16 = 1 << 5;
    /// Equal content was stored once.
    pub(crate) const DUPLICATES: u16 = 1 << 6;
    /// There is an export table.
    pub(crate) const EXPORTABLE: u16 = 1 << 7;
    /// The xattr tables are stored.
    pub(crate) const STORED_XATTRS: u16 = 1 << 8;
    /// There are no xattr tables.
    pub(crate) const NO_XATTRS: u16 = 1 << 9;
    /// A compressor options block follows the superblock.
    pub(crate) const OPTIONS: u16 = 1 << 10;
    /// The id table is stored.
    pub(crate) const STORED_IDS: u16 = 1 << 11;
}

/// Everything the superblock says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) inodes: u32,
    pub(crate) created: u32,
    pub(crate) block_size: u32,
    pub(crate) fragments: u32,
    pub(crate) compressor: u16,
    pub(crate) flags: u16,
    pub(crate) ids: u16,
    pub(crate) root: u64,
    pub(crate) bytes_used: u64,
    pub(crate) id_table: u64,
    pub(crate) xattr_table: u64,
    pub(crate) inode_table: u64,
    pub(crate) directory_table: u64,
    pub(crate) fragment_table: u64,
    pub(crate) export_table: u64,
}

impl Superblock {
    /// The 96 bytes as they stand in the image.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SUPERBLOCK_BYTES as usize);
        for word in [MAGIC, self.inodes, self.created, self.block_size, self.fragments] {
            out.put_u32(word);
        }
        let log = self.block_size.trailing_zeros() as u16;
        for half in [self.compressor, log, self.flags, self.ids, 4, 0] {
            out.put_u16(half);
        }
        for long in self.places() {
            out.put_u64(long);
        }
        out
    }

    fn places(&self) -> [u64; 8] {
        [
            self.root,
            self.bytes_used,
            self.id_table,
            self.xattr_table,
            self.inode_table,
            self.directory_table,
            self.fragment_table,
            self.export_table,
        ]
    }
}

/// The flags that follow from the options alone. Whether there are xattr tables is known only when they are written.
pub(crate) fn option_flags(options: &Options) -> u16 {
    let all = matches!(options.codec, Spec::None);
    let chosen = [
        (all || options.stored.inodes, flags::STORED_INODES),
        (all || options.stored.data, flags::STORED_DATA),
        (all || options.stored.fragments, flags::STORED_FRAGMENTS),
        (options.fragments == Fragments::Never, flags::NO_FRAGMENTS),
        (options.fragments == Fragments::Always, flags::ALWAYS_FRAGMENTS),
        (options.deduplicate, flags::DUPLICATES),
        (options.exportable, flags::EXPORTABLE),
        (all || options.stored.xattrs, flags::STORED_XATTRS),
        (all || options.stored.ids, flags::STORED_IDS),
    ];
    chosen.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Superblock {
        Superblock {
            inodes: 7,
            created: 0x0102_0304,
            block_size: 131_072,
            fragments: 2,
            compressor: 6,
            flags: flags::DUPLICATES | flags::NO_XATTRS,
            ids: 1,
            root: 0x1234_0056,
            bytes_used: 4096,
            id_table: 4000,
            xattr_table: NO_TABLE,
            inode_table: 96,
            directory_table: 500,
            fragment_table: 900,
            export_table: NO_TABLE,
        }
    }

    #[test]
    fn encodes_to_the_bytes_of_the_format() {
        let bytes = sample().encode();
        let head = b"hsqs\x07\0\0\0\x04\x03\x02\x01\0\0\x02\0\x02\0\0\0\x06\0\x11\0\x40\x02\x01\0\x04\0\0\0";
        assert_eq!(bytes.len() as u64, SUPERBLOCK_BYTES);
        assert_eq!(&bytes[..32], head);
        assert_eq!(&bytes[32..48], b"\x56\0\x34\x12\0\0\0\0\0\x10\0\0\0\0\0\0");
        assert_eq!(&bytes[56..64], &[0xff; 8]);
        assert_eq!(&bytes[88..], &[0xff; 8]);
    }
}
