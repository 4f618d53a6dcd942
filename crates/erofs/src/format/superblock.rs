//! The superblock, which starts at byte 1024.
//!
//! 128 bytes, then slots of 16 bytes whose number is in the superblock; the first slot has the position of the metabox.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 4 | magic 0xE0F5E1E2 |
//! | 4 | 4 | checksum, if [`compat::CHECKSUM`] is set |
//! | 8 | 4 | compatible features |
//! | 12 | 1 | logarithm of the block size |
//! | 13 | 1 | number of slots |
//! | 14 | 2 | root inode; with [`incompat::WIDE`] and a root at 112: bits 32 to 47 of the number of blocks |
//! | 16 | 8 | number of inodes |
//! | 24 | 8 | time of compact inodes in seconds, to which a compact inode adds its own |
//! | 32 | 4 | nanoseconds of compact inodes |
//! | 36 | 4 | number of blocks |
//! | 40 | 4 | block of inode 0 |
//! | 44 | 4 | block of shared extended attribute 0 |
//! | 48 | 16 | UUID |
//! | 64 | 16 | label |
//! | 80 | 4 | incompatible features |
//! | 84 | 2 | algorithms, one bit each, with [`incompat::COMPRESSION_RECORDS`]; otherwise the distance of lz4 |
//! | 86 | 2 | number of devices |
//! | 88 | 2 | position of the device table in units of 128 bytes |
//! | 90 | 1 | logarithm of the blocks of a directory block, 0 |
//! | 91 | 1 | number of long prefixes of attribute names |
//! | 92 | 4 | position of the long prefixes in units of 4 bytes |
//! | 96 | 8 | packed inode |
//! | 104 | 1 | not zero if name filters do not apply |
//! | 105 | 1 | long prefix of fingerprints |
//! | 108 | 4 | seconds from the time at 24 to the creation of the image |
//! | 112 | 8 | root inode with [`incompat::WIDE`] |
//! | 128 | 8 | inode of the metabox with [`incompat::METABOX`] |
//!
//! The checksum is a CRC-32C without final inversion. It covers the bytes from the superblock to the end of its block (of the next block, if
//! blocks are not larger than 1024 bytes), with a checksum field of zeros.

use packline_volume::ReadError;

use super::wire::{half, long, put, word};

/// Offset of the superblock in the image in bytes.
pub const SUPERBLOCK_START: u64 = 1024;
/// Length of the superblock without slots in bytes.
pub const SUPERBLOCK_BYTES: usize = 128;
/// Length of the superblock with its first slot.
pub(crate) const SUPERBLOCK_MOST: usize = 144;

const MAGIC: u32 = 0xe0f5_e1e2;
/// Most bytes of a label: kernels before 6.17 demand a NUL byte after it.
pub(crate) const LABEL_MOST: usize = 15;
/// The first bytes of a superblock.
pub const MAGIC_BYTES: [u8; 4] = MAGIC.to_le_bytes();
/// Length of a slot in bytes.
const SLOT_BYTES: u64 = 16;
/// Unit of the position of the device table in bytes.
const DEVICE_TABLE_UNIT: u64 = 128;
/// Unit of the position of long prefixes in bytes.
pub(crate) const PREFIX_UNIT: usize = 4;
/// Highest bit of an inode's position: the inode is in the metabox.
pub(crate) const IN_METABOX: u64 = 1 << 63;
/// Nanoseconds of a second.
pub(crate) const NANOSECONDS: u32 = 1_000_000_000;

/// Features that a reader may ignore.
pub mod compat {
    /// The superblock has a checksum.
    pub const CHECKSUM: u32 = 1;
    /// Times of inodes are modification times.
    pub const MTIME: u32 = 1 << 1;
    /// Inodes have filters of the names of their attributes.
    pub const XATTR_FILTER: u32 = 1 << 2;
    /// Shared extended attributes are in the metabox.
    pub const SHARED_XATTRS_IN_METABOX: u32 = 1 << 3;
    /// Long prefixes of attribute names are at a position of the image.
    pub const PLAIN_XATTR_PREFIXES: u32 = 1 << 4;
    /// Files have fingerprints, by which the kernel shares their pages.
    pub const FINGERPRINTS: u32 = 1 << 5;

    /// The features and their names.
    pub const NAMES: [(u32, &str); 6] = [
        (CHECKSUM, "superblock checksum"),
        (MTIME, "modification times"),
        (XATTR_FILTER, "xattr name filters"),
        (SHARED_XATTRS_IN_METABOX, "shared xattrs in the metabox"),
        (PLAIN_XATTR_PREFIXES, "plain xattr prefixes"),
        (FINGERPRINTS, "fingerprints"),
    ];
}

/// Features that a reader must know. Some bits have two meanings.
pub mod incompat {
    /// Compressed data ends at the end of its blocks, after zeros.
    pub const ZERO_PADDING: u32 = 1;
    /// The algorithms have records after the superblock; clusters may have more than one block.
    pub const COMPRESSION_RECORDS: u32 = 1 << 1;
    /// Files are stored as chunks.
    pub const CHUNKS: u32 = 1 << 2;
    /// The image has a device table; a file may have two algorithms.
    pub const DEVICES: u32 = 1 << 3;
    /// The last cluster of a file may follow its inode.
    pub const INLINE_CLUSTERS: u32 = 1 << 4;
    /// Files may end in the packed inode; clusters may be shared.
    pub const FRAGMENTS: u32 = 1 << 5;
    /// Attribute names may have long prefixes.
    pub const XATTR_PREFIXES: u32 = 1 << 6;
    /// Block numbers have 48 bits.
    pub const WIDE: u32 = 1 << 7;
    /// Metadata may be in the metabox.
    pub const METABOX: u32 = 1 << 8;

    /// The features and their names.
    pub const NAMES: [(u32, &str); 9] = [
        (ZERO_PADDING, "zero padding"),
        (COMPRESSION_RECORDS, "compression records or big clusters"),
        (CHUNKS, "chunks"),
        (DEVICES, "devices or a second algorithm"),
        (INLINE_CLUSTERS, "inline clusters"),
        (FRAGMENTS, "fragments or shared clusters"),
        (XATTR_PREFIXES, "long xattr prefixes"),
        (WIDE, "48-bit block numbers"),
        (METABOX, "metabox"),
    ];
}

/// The decoded superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Logarithm of the block size in bytes, 9 to 16.
    pub block_bits: u8,
    /// Length of the superblock in bytes; the records of the algorithms follow it.
    pub bytes: u64,
    /// Checksum, if the image has one.
    pub checksum: Option<u32>,
    /// Features of [`compat`].
    pub compat: u32,
    /// Features of [`incompat`].
    pub incompat: u32,
    /// Number of the root inode.
    pub root: u64,
    /// Number of inodes.
    pub inodes: u64,
    /// Time of compact inodes in seconds since 1970.
    pub epoch: i64,
    /// Nanoseconds of compact inodes.
    pub nanoseconds: u32,
    /// Seconds from the epoch to the creation of the image.
    pub build_time: u32,
    /// Number of blocks of the image without devices.
    pub blocks: u64,
    /// Block of inode 0.
    pub inode_block: u32,
    /// Block of shared extended attribute 0.
    pub xattr_block: u32,
    pub uuid: [u8; 16],
    /// Label with its padding.
    pub label: [u8; 16],
    /// Algorithms, one bit each, or the distance of lz4.
    pub algorithms: u16,
    /// Number of devices besides the image.
    pub devices: u16,
    /// Offset of the device table in bytes.
    pub device_table: u64,
    /// Number of long prefixes of attribute names.
    pub xattr_prefixes: u8,
    /// Offset of the long prefixes in bytes: in the metabox, the packed inode or the image.
    pub xattr_prefix_start: u64,
    /// Number of the long prefix that is the name of fingerprints, if files have fingerprints.
    pub fingerprint_prefix: Option<u8>,
    /// Number of the inode that has the ends of files.
    pub packed: Option<u64>,
    /// Number of the inode that has metadata.
    pub metabox: Option<u64>,
}

impl Superblock {
    /// Parses a superblock, and checks what can be checked without the rest of the image.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the bytes are not an EROFS superblock or break a rule, [`ReadError::Unsupported`] for unknown features.
    pub(crate) fn decode(bytes: &[u8; SUPERBLOCK_MOST]) -> Result<Superblock, ReadError> {
        let magic = word(bytes, 0);
        if magic != MAGIC {
            let what = format!("not an EROFS image: magic {magic:#010x}");
            return Err(ReadError::corrupt(SUPERBLOCK_START, what, format!("{MAGIC:#010x}")));
        }
        let incompat = word(bytes, 80);
        check_features(incompat)?;
        let compat = word(bytes, 8);
        let has = |feature: u32| incompat & feature != 0;
        let wide_root = Some(long(bytes, 112)).filter(|root| has(incompat::WIDE) && *root != 0);
        let blocks = u64::from(word(bytes, 36));
        let number = u64::from(half(bytes, 14));
        let superblock = Superblock {
            block_bits: bytes[12],
            bytes: SUPERBLOCK_BYTES as u64 + u64::from(bytes[13]) * SLOT_BYTES,
            checksum: (compat & compat::CHECKSUM != 0).then(|| word(bytes, 4)),
            compat,
            incompat,
            root: wide_root.unwrap_or(number),
            inodes: long(bytes, 16),
            epoch: long(bytes, 24) as i64,
            nanoseconds: word(bytes, 32),
            build_time: word(bytes, 108),
            blocks: if wide_root.is_some() { blocks | number << 32 } else { blocks },
            inode_block: word(bytes, 40),
            xattr_block: word(bytes, 44),
            uuid: std::array::from_fn(|index| bytes[48 + index]),
            label: std::array::from_fn(|index| bytes[64 + index]),
            algorithms: half(bytes, 84),
            devices: if has(incompat::DEVICES) { half(bytes, 86) } else { 0 },
            device_table: u64::from(half(bytes, 88)) * DEVICE_TABLE_UNIT,
            xattr_prefixes: bytes[91],
            xattr_prefix_start: u64::from(word(bytes, 92)) * PREFIX_UNIT as u64,
            fingerprint_prefix: (compat & compat::FINGERPRINTS != 0).then_some(bytes[105]),
            packed: Some(long(bytes, 96)).filter(|packed| has(incompat::FRAGMENTS) && *packed != 0),
            metabox: has(incompat::METABOX).then(|| long(bytes, 128)),
        };
        superblock.check(bytes[90])?;
        Ok(superblock)
    }

    /// Returns the blocks that have the superblock: zeros, the superblock, what follows it (the records of the algorithms or the device table, then
    /// long prefixes), zeros. Sets the checksum. The superblock must have no slots.
    pub(crate) fn encode_blocks(&self, records: &[u8]) -> Vec<u8> {
        let start = SUPERBLOCK_START as usize;
        let bytes = start + SUPERBLOCK_BYTES + records.len();
        let mut block = vec![0; bytes.next_multiple_of(self.block_size() as usize)];
        let bytes = &mut block[start..];
        put(bytes, 0, MAGIC_BYTES);
        put(bytes, 8, self.compat.to_le_bytes());
        put(bytes, 12, [self.block_bits]);
        put(bytes, 16, self.inodes.to_le_bytes());
        put(bytes, 24, self.epoch.to_le_bytes());
        put(bytes, 32, self.nanoseconds.to_le_bytes());
        put(bytes, 36, (self.blocks as u32).to_le_bytes());
        put(bytes, 40, self.inode_block.to_le_bytes());
        put(bytes, 44, self.xattr_block.to_le_bytes());
        put(bytes, 48, self.uuid);
        put(bytes, 64, self.label);
        put(bytes, 80, self.incompat.to_le_bytes());
        put(bytes, 84, self.algorithms.to_le_bytes());
        put(bytes, 86, self.devices.to_le_bytes());
        put(bytes, 88, ((self.device_table / DEVICE_TABLE_UNIT) as u16).to_le_bytes());
        put(bytes, 91, [self.xattr_prefixes]);
        put(bytes, 92, ((self.xattr_prefix_start / PREFIX_UNIT as u64) as u32).to_le_bytes());
        put(bytes, 96, self.packed.unwrap_or(0).to_le_bytes());
        put(bytes, 108, self.build_time.to_le_bytes());
        if self.has(incompat::WIDE) {
            put(bytes, 14, ((self.blocks >> 32) as u16).to_le_bytes());
            put(bytes, 112, self.root.to_le_bytes());
        } else {
            put(bytes, 14, (self.root as u16).to_le_bytes());
        }
        if let Some(target) = bytes.get_mut(SUPERBLOCK_BYTES..SUPERBLOCK_BYTES + records.len()) {
            target.copy_from_slice(records);
        }
        if self.has_compatible(compat::CHECKSUM) {
            let sum = checksum(&block[start..start + self.checked_bytes() as usize]);
            put(&mut block[start..], 4, sum.to_le_bytes());
        }
        block
    }

    fn check(&self, directory_bits: u8) -> Result<(), ReadError> {
        let rules = [
            (
                (9..=16).contains(&self.block_bits),
                12,
                format!("logarithm {} of the block size", self.block_bits),
                "9 to 16",
            ),
            (directory_bits == 0, 90, format!("logarithm {directory_bits} of the blocks of a directory block"), "0"),
            (self.nanoseconds < NANOSECONDS, 32, format!("{} nanoseconds", self.nanoseconds), "less than a second"),
            (
                self.metabox.is_none() || self.bytes >= SUPERBLOCK_MOST as u64,
                13,
                format!("superblock of {} bytes in an image with a metabox", self.bytes),
                "at least 144",
            ),
            (
                self.packed.is_none_or(|packed| packed & IN_METABOX == 0),
                96,
                "packed inode in the metabox".into(),
                "an inode of the image",
            ),
            (
                self.metabox.is_none_or(|metabox| metabox & IN_METABOX == 0),
                128,
                "metabox inode in the metabox".into(),
                "an inode of the image",
            ),
            (
                self.fingerprint_prefix.is_none_or(|prefix| prefix < self.xattr_prefixes),
                105,
                format!("fingerprints with long prefix {}", self.fingerprint_prefix.unwrap_or_default()),
                "the number of a long prefix",
            ),
        ];
        for (is_sound, offset, what, expected) in rules {
            if !is_sound {
                return Err(ReadError::corrupt(SUPERBLOCK_START + offset, what, expected));
            }
        }
        Ok(())
    }

    /// Whether the image has a feature of [`incompat`].
    pub fn has(&self, feature: u32) -> bool {
        self.incompat & feature != 0
    }

    /// Whether the image has a feature of [`compat`].
    pub fn has_compatible(&self, feature: u32) -> bool {
        self.compat & feature != 0
    }

    /// Returns the block size in bytes.
    pub fn block_size(&self) -> u64 {
        1 << self.block_bits
    }

    /// Returns the label without its padding. Kernels before 6.17 demand a NUL byte in the label; a label of 16 bytes is accepted here.
    pub fn label(&self) -> &[u8] {
        self.label.split(|byte| *byte == 0).next().unwrap_or(&[])
    }

    /// Returns the number of bytes from the superblock on that the checksum covers.
    pub(crate) fn checked_bytes(&self) -> u64 {
        let block = self.block_size();
        if block > SUPERBLOCK_START { block - SUPERBLOCK_START } else { block }
    }

    /// Compares the checksum with that of the bytes from the superblock on.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the checksum differs.
    pub(crate) fn check_sum(&self, bytes: &[u8]) -> Result<(), ReadError> {
        let Some(stored) = self.checksum else { return Ok(()) };
        let found = checksum(bytes);
        if found == stored {
            return Ok(());
        }
        Err(ReadError::superblock_checksum(SUPERBLOCK_START + 4, found, stored))
    }
}

/// Returns the UUID in the block that has the superblock.
pub(crate) fn uuid_in(block: &[u8]) -> [u8; 16] {
    std::array::from_fn(|index| block.get(SUPERBLOCK_START as usize + 48 + index).copied().unwrap_or(0))
}

fn check_features(incompat: u32) -> Result<(), ReadError> {
    let known = incompat::NAMES.iter().fold(0, |all, (bit, _)| all | bit);
    let unknown = incompat & !known;
    if unknown == 0 {
        return Ok(());
    }
    Err(ReadError::unsupported(format!("unknown EROFS features {unknown:#x}"), format!("features of {known:#x}")))
}

/// Returns the CRC-32C without final inversion of the bytes from the superblock on, with zeros in the checksum field.
fn checksum(bytes: &[u8]) -> u32 {
    let (before, rest) = bytes.split_at(bytes.len().min(4));
    let after = rest.get(4..).unwrap_or(&[]);
    [before, &[0; 4], after].iter().fold(u32::MAX, |sum, part| part.iter().fold(sum, |sum, byte| step(sum, *byte)))
}

/// Adds a byte to a reflected CRC with the polynomial 0x1EDC6F41. At most 64 KiB are summed, once for an image.
fn step(sum: u32, byte: u8) -> u32 {
    (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_the_castagnoli_checksum() {
        // The check value of CRC-32C is the sum of "123456789" with final inversion.
        assert_eq!(!b"123456789".iter().fold(u32::MAX, |sum, byte| step(sum, *byte)), 0xe306_9283);
    }

    #[test]
    fn decodes_what_it_encodes() {
        for (incompat, root, blocks) in [(0, 65_535, u64::from(u32::MAX)), (incompat::WIDE, 1 << 40, (1 << 48) - 1)] {
            let mut superblock = Superblock {
                block_bits: 12,
                bytes: SUPERBLOCK_BYTES as u64,
                checksum: None,
                compat: compat::CHECKSUM | compat::MTIME,
                incompat: incompat | incompat::FRAGMENTS,
                root,
                inodes: 7,
                epoch: -5,
                nanoseconds: 999_999_999,
                build_time: 77,
                blocks,
                inode_block: 5,
                xattr_block: 6,
                uuid: std::array::from_fn(|index| index as u8),
                label: *b"fifteen bytes..\0",
                algorithms: 8,
                devices: 0,
                device_table: 0,
                xattr_prefixes: 2,
                xattr_prefix_start: 1156,
                fingerprint_prefix: None,
                packed: Some(99),
                metabox: None,
            };
            let block = superblock.encode_blocks(&[1, 2, 3]);
            assert_eq!((block.len(), &block[1152..1156]), (4096, &[1, 2, 3, 0][..]));
            let found = Superblock::decode(block[1024..].first_chunk().unwrap()).unwrap();
            found.check_sum(&block[1024..]).unwrap();
            superblock.checksum = found.checksum;
            assert_eq!(found, superblock);
            let mut changed = block;
            changed[2000] ^= 1;
            assert!(found.check_sum(&changed[1024..]).is_err());
        }
    }

    #[test]
    fn rejects_unknown_features_by_number() {
        let mut bytes = [0; SUPERBLOCK_MOST];
        bytes[..4].copy_from_slice(&MAGIC_BYTES);
        bytes[12] = 12;
        assert!(Superblock::decode(&bytes).is_ok());
        bytes[82] = 0x10;
        let error = Superblock::decode(&bytes).unwrap_err();
        assert!(matches!(error, ReadError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("0x100000"), "{error}");
    }
}
