//! The superblock: the first 96 bytes of an image.
//!
//! SquashFS 4.0, all numbers little-endian (in images of some vendors big-endian): magic u32, inodes u32, creation time u32, block size u32, fragments u32,
//! compressor u16, log2 of the block size u16, flags u16, ids u16, version 4.0 as two u16, then u64 each: root inode
//! reference, bytes used, start of the id, xattr, inode, directory, fragment and export tables. A table that is missing
//! starts at [`NO_TABLE`].

use packline_codec::Spec;
use packline_volume::ReadError;

use crate::format::layout::{ByteOrder, Fields, Layout};
use crate::format::wire::Put;
use crate::{BlockSize, Fragments, Options};

/// Length of the superblock in bytes.
pub const SUPERBLOCK_BYTES: u64 = 96;
/// The start of a missing table.
pub(crate) const NO_TABLE: u64 = u64::MAX;

const MAGIC: u32 = 0x7371_7368;
/// The first bytes of an image.
pub const MAGIC_BYTES: [u8; 4] = MAGIC.to_le_bytes();
/// A version of vendors: 2.1 with LZMA.
const LZMA_VERSION: (u16, u16) = (2, 76);
/// The first bytes of images that are read: little-endian, big-endian, and of vendors that changed the magic, mostly for LZMA.
pub const MAGICS: [[u8; 4]; 7] = [MAGIC_BYTES, *b"sqsh", *b"sqlz", *b"qshs", *b"tqsh", *b"hsqt", *b"shsq"];
/// The magic of a streamed image: its superblock is at its end, and must be moved before reading.
const STREAMED: u32 = 0x5351_5348;
/// The first bytes of a streamed image.
pub const STREAMED_MAGIC: [u8; 4] = STREAMED.to_le_bytes();
/// Compressors are numbered from 1 to this.
const COMPRESSORS: u16 = 6;

/// The flags. The kernel reads [`flags::OPTIONS`] only; the others are informational.
pub mod flags {
    /// The inode table is stored, not compressed.
    pub const STORED_INODES: u16 = 1;
    /// Data blocks are stored.
    pub const STORED_DATA: u16 = 1 << 1;
    /// In versions before 4.0, a marker follows the header of each metadata block. Version 4.0 does not use the bit.
    pub const CHECK_DATA: u16 = 1 << 2;
    /// Fragment blocks are stored.
    pub const STORED_FRAGMENTS: u16 = 1 << 3;
    /// Tail ends are not packed into fragment blocks.
    pub const NO_FRAGMENTS: u16 = 1 << 4;
    /// Tail ends of files larger than a block are packed too.
    pub const ALWAYS_FRAGMENTS: u16 = 1 << 5;
    /// Equal content is stored once.
    pub const DUPLICATES: u16 = 1 << 6;
    /// The image has an export table.
    pub const EXPORTABLE: u16 = 1 << 7;
    /// The xattr tables are stored.
    pub const STORED_XATTRS: u16 = 1 << 8;
    /// The image has no xattr tables.
    pub const NO_XATTRS: u16 = 1 << 9;
    /// A compressor options block follows the superblock.
    pub const OPTIONS: u16 = 1 << 10;
    /// The id table is stored.
    pub const STORED_IDS: u16 = 1 << 11;

    /// A name for each bit, whether the format uses it or not.
    pub const NAMES: [(u16, &str); 16] = [
        (STORED_INODES, "inodes stored"),
        (STORED_DATA, "data stored"),
        (CHECK_DATA, "unused bit 2"),
        (STORED_FRAGMENTS, "fragments stored"),
        (NO_FRAGMENTS, "no fragments"),
        (ALWAYS_FRAGMENTS, "all tail ends in fragment blocks"),
        (DUPLICATES, "duplicates removed"),
        (EXPORTABLE, "exportable"),
        (STORED_XATTRS, "xattrs stored"),
        (NO_XATTRS, "no xattrs"),
        (OPTIONS, "compressor options"),
        (STORED_IDS, "ids stored"),
        (1 << 12, "unknown bit 12"),
        (1 << 13, "unknown bit 13"),
        (1 << 14, "unknown bit 14"),
        (1 << 15, "unknown bit 15"),
    ];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    pub inodes: u32,
    /// Time of creation, seconds since 1970.
    pub created: u32,
    pub block_size: BlockSize,
    /// Number of fragment blocks.
    pub fragments: u32,
    /// Number of the compressor.
    pub compressor: u16,
    /// Flags, see the format.
    pub flags: u16,
    pub ids: u16,
    /// Reference of the root inode.
    pub root: u64,
    /// Length in bytes of the image without padding.
    pub bytes_used: u64,
    /// Start of the id table's index in bytes.
    pub id_table: u64,
    /// Start of the xattr table's header in bytes; all ones if there is none.
    pub xattr_table: u64,
    /// Start of the inode table in bytes.
    pub inode_table: u64,
    /// Start of the directory table in bytes.
    pub directory_table: u64,
    /// Start in bytes of the fragment table's index; all ones if there is none.
    pub fragment_table: u64,
    /// Start of the export table's index in bytes; all ones if there is none.
    pub export_table: u64,
}

impl Superblock {
    /// The encoded 96 bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SUPERBLOCK_BYTES as usize);
        for word in [MAGIC, self.inodes, self.created, self.block_size.into(), self.fragments] {
            out.put_u32(word);
        }
        let log = self.block_size.log().into();
        for half in [self.compressor, log, self.flags, self.ids, 4, 0] {
            out.put_u16(half);
        }
        for long in self.places() {
            out.put_u64(long);
        }
        out
    }

    /// Parses the 96 bytes, and checks what can be checked without the rest of the image: the magic, the version, the block size, the counts and
    /// the order of the tables.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the bytes are not a SquashFS superblock or break a rule, [`ReadError::Unsupported`] for another version or byte
    /// order, a streamed image, or an unknown compressor.
    pub fn decode(bytes: &[u8; SUPERBLOCK_BYTES as usize]) -> Result<Superblock, ReadError> {
        let layout = layout(bytes)?;
        if !layout.is_current() {
            return Err(ReadError::unsupported(format!("{layout}"), Layout::CURRENT.to_string()));
        }
        Superblock::decode_ordered(bytes, layout.order)
    }

    /// As [`Superblock::decode`], for version 4.0 in a byte order. The magic and the version have been checked.
    pub(crate) fn decode_ordered(
        bytes: &[u8; SUPERBLOCK_BYTES as usize],
        order: ByteOrder,
    ) -> Result<Superblock, ReadError> {
        let mut fields = Fields::new(*bytes, order);
        let [_magic, inodes, created, block_bytes, fragments] = std::array::from_fn(|_| fields.word(32));
        let [compressor, log, flags, ids, _major, _minor] = std::array::from_fn(|_| fields.half(16));
        let [root, bytes_used, id_table, xattr_table, inode_table, directory_table, fragment_table, export_table] =
            std::array::from_fn(|_| fields.long(64));
        let superblock = Superblock {
            inodes,
            created,
            block_size: block_size(block_bytes, log, [12, 22])?,
            fragments,
            compressor,
            flags,
            ids,
            root,
            bytes_used,
            id_table,
            xattr_table,
            inode_table,
            directory_table,
            fragment_table,
            export_table,
        };
        superblock.check()?;
        Ok(superblock)
    }

    fn check(&self) -> Result<(), ReadError> {
        if self.inodes == 0 {
            return Err(no_inodes());
        }
        if self.ids == 0 {
            return Err(ReadError::corrupt(26, "an id table of 0 ids", "at least 1"));
        }
        if !(1..=COMPRESSORS).contains(&self.compressor) {
            let what = format!("compressor number {}", self.compressor);
            return Err(ReadError::unsupported(what, "1 gzip, 2 lzma, 3 lzo, 4 xz, 5 lz4 or 6 zstd"));
        }
        check_order(&self.order(), SUPERBLOCK_BYTES, self.bytes_used)
    }

    fn order(&self) -> [Start; 6] {
        let start = |name, at, start, exists| Start { name, at, start, exists, may_be_empty: false };
        [
            start("inode table", 64, self.inode_table, true),
            start("directory table", 72, self.directory_table, true),
            start("fragment table", 80, self.fragment_table, self.fragments > 0),
            start("export table", 88, self.export_table, self.export_table != NO_TABLE),
            start("id table", 48, self.id_table, true),
            start("xattr table", 56, self.xattr_table, self.xattr_table != NO_TABLE),
        ]
    }

    /// Checks that the image fits into `space` bytes.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the image is cut off.
    pub(crate) fn check_places(&self, space: u64, layout: &Layout) -> Result<(), ReadError> {
        if self.bytes_used <= space {
            return Ok(());
        }
        let at = match layout.major {
            1 | 2 => 8,
            3 => 63,
            _ => 40,
        };
        Err(ReadError::cut_off(at, space, self.bytes_used))
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

/// The start of a table, as a superblock states it.
pub(crate) struct Start {
    pub(crate) name: &'static str,
    /// Offset of the start in the superblock.
    pub(crate) at: u64,
    pub(crate) start: u64,
    /// Whether the image has the table.
    pub(crate) exists: bool,
    /// Whether the table before it may have no bytes.
    pub(crate) may_be_empty: bool,
}

/// Checks that the existing tables are in their required order, after a superblock of `superblock` bytes and in an image of `end` bytes.
pub(crate) fn check_order(starts: &[Start], superblock: u64, end: u64) -> Result<(), ReadError> {
    let mut before = ("superblock's last byte", superblock - 1);
    for Start { name, at, start, may_be_empty, .. } in starts.iter().filter(|start| start.exists) {
        let least = before.1.saturating_add(u64::from(!may_be_empty));
        if *start < least || *start >= end {
            let expected = format!("after the {} at {} and before {end}", before.0, before.1);
            return Err(ReadError::corrupt(*at, format!("{name} at {start}"), expected));
        }
        before = (*name, *start);
    }
    Ok(())
}

/// The block size, whose logarithm is stored too; `at`: the offsets of both in the superblock.
pub(crate) fn block_size(bytes: u32, log: u16, at: [u64; 2]) -> Result<BlockSize, ReadError> {
    let size = BlockSize::new(bytes.into()).map_err(|_| {
        let expected = format!("a power of two, {} to {}", BlockSize::MIN, BlockSize::MAX);
        ReadError::corrupt(at[0], format!("block size {bytes}"), expected)
    })?;
    if log != u16::from(size.log()) {
        let expected = format!("{}, the logarithm of the block size {size}", size.log());
        return Err(ReadError::corrupt(at[1], format!("logarithm {log} of the block size"), expected));
    }
    Ok(size)
}

pub(crate) fn no_inodes() -> ReadError {
    ReadError::corrupt(4, "an image of 0 inodes", "at least 1, the root directory")
}

/// Whether the magic is one of the two that the format names.
pub(crate) fn is_standard(magic: [u8; 4]) -> bool {
    MAGICS[..2].contains(&magic)
}

/// Reads the magic and the version. `head`: at least the first 32 bytes of an image.
///
/// # Errors
/// [`ReadError::Corrupt`] if the magic is unknown, [`ReadError::Unsupported`] for an unknown version or a streamed image.
pub(crate) fn layout(head: &[u8]) -> Result<Layout, ReadError> {
    let mut start = [0; 32];
    start.iter_mut().zip(head).for_each(|(to, byte)| *to = *byte);
    let magic = [start[0], start[1], start[2], start[3]];
    let number = u32::from_le_bytes(magic);
    if number == STREAMED || number == STREAMED.swap_bytes() {
        let what = "a streamed SquashFS image, with the superblock at its end";
        return Err(ReadError::unsupported(what, "an image with the superblock first"));
    }
    if !MAGICS.contains(&magic) {
        let what = format!("not a SquashFS image: magic {number:#010x}");
        return Err(ReadError::corrupt(0, what, format!("{MAGIC:#010x}")));
    }
    let version = |order: ByteOrder| [28, 30].map(|at| order.half([start[at], start[at + 1]]));
    let order = match magic {
        MAGIC_BYTES => ByteOrder::Little,
        _ if is_standard(magic) || (1..=4).contains(&version(ByteOrder::Big)[0]) => ByteOrder::Big,
        _ => ByteOrder::Little,
    };
    let [major, minor] = version(order);
    // Bit 2 of the flags, at byte 36.
    let has_markers = major < 4 && head.get(36).is_some_and(|bits| u16::from(*bits) & flags::CHECK_DATA != 0);
    match (major, minor) {
        (1 | 4, 0) | (2 | 3, 0 | 1) | LZMA_VERSION => {
            Ok(Layout { magic, major, minor, order, header_order: order, has_markers })
        }
        _ => Err(ReadError::unsupported(
            format!("SquashFS version {major}.{minor}"),
            "version 1.0, 2.0, 2.1, 3.0, 3.1 or 4.0",
        )),
    }
}

/// Returns the flags that depend on the options alone. The flag for xattr tables is known only when the tables are written.
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
pub(crate) mod tests {
    use super::*;

    /// A valid superblock.
    pub(crate) fn sound() -> Superblock {
        sample()
    }

    fn sample() -> Superblock {
        Superblock {
            inodes: 7,
            created: 0x0102_0304,
            block_size: BlockSize::default(),
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
    fn decodes_what_it_encodes() {
        for superblock in [sample(), Superblock { xattr_table: 4050, export_table: 3000, ..sample() }] {
            let bytes = superblock.encode();
            assert_eq!(Superblock::decode(bytes.first_chunk().unwrap()).unwrap(), superblock);
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
