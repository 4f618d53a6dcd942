//! Versions of the format, byte orders, and fields of bits.
//!
//! All versions have the magic first and the version at bytes 28 to 31, in the byte order of the image. Versions before 4.0 store structures with
//! fields of bits, as C compilers lay them out: from the lowest bit of the first byte in little-endian images, from the highest bit in big-endian
//! images.

use std::fmt;

/// The byte order of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub(crate) fn half(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(crate) fn long(self, bytes: [u8; 8]) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        }
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        })
    }
}

/// Version of the format, byte order and magic of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The first bytes of the image.
    pub magic: [u8; 4],
    /// The first number of the version, 1 to 4.
    pub major: u16,
    /// The second number of the version.
    pub minor: u16,
    pub order: ByteOrder,
    /// The byte order of the headers of metadata blocks, which differs in some big-endian images of version 4.0.
    pub(crate) header_order: ByteOrder,
    /// Whether a marker follows the header of each metadata block.
    pub(crate) has_markers: bool,
}

impl Layout {
    /// SquashFS 4.0, which is written and which Linux mounts.
    pub const CURRENT: Layout = Layout {
        magic: super::superblock::MAGIC_BYTES,
        major: 4,
        minor: 0,
        order: ByteOrder::Little,
        header_order: ByteOrder::Little,
        has_markers: false,
    };

    /// Whether this is [`Layout::CURRENT`].
    pub fn is_current(&self) -> bool {
        *self == Layout::CURRENT
    }

    /// Whether this is a version before 4.0.
    pub(crate) fn is_old(&self) -> bool {
        self.major < 4
    }

    /// Whether listings are in the order in which the entries were found. Such listings are sorted when they are read.
    pub(crate) fn has_unsorted_listings(&self) -> bool {
        self.major == 1 || (self.major, self.minor) == (2, 0)
    }

    /// Length of the superblock in bytes.
    pub(crate) fn superblock_bytes(&self) -> u64 {
        match self.major {
            1 => 51,
            2 => 63,
            3 => 119,
            _ => super::superblock::SUPERBLOCK_BYTES,
        }
    }

    /// Length in bytes of the header of a metadata block.
    pub(crate) fn header_bytes(&self) -> u64 {
        if self.has_markers { 3 } else { 2 }
    }

    /// Length in bytes of an offset in the index of a table.
    pub(crate) fn offset_bytes(&self) -> u64 {
        if self.major < 3 { 4 } else { 8 }
    }

    /// Length in bytes of an entry of the fragment table.
    pub(crate) fn fragment_bytes(&self) -> u64 {
        if self.major < 3 { 8 } else { 16 }
    }

    /// Length in bytes of the number that has the size of a block.
    pub(crate) fn word_bytes(&self) -> u64 {
        if self.major == 1 { 2 } else { 4 }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SquashFS {}.{}", self.major, self.minor)?;
        if self.order == ByteOrder::Big {
            write!(f, ", {}", self.order)?;
        }
        if !super::superblock::is_standard(self.magic) {
            write!(f, ", magic \"{}\"", self.magic.escape_ascii())?;
        }
        Ok(())
    }
}

/// Numbers of a structure, taken one after another.
#[derive(Debug, Clone)]
pub(crate) struct Fields<const N: usize> {
    bytes: [u8; N],
    order: ByteOrder,
    /// Bits that were taken.
    taken: usize,
}

impl<const N: usize> Fields<N> {
    pub(crate) fn new(bytes: [u8; N], order: ByteOrder) -> Fields<N> {
        Fields { bytes, order, taken: 0 }
    }

    /// Takes a number of up to 64 bits.
    pub(crate) fn long(&mut self, bits: usize) -> u64 {
        let skipped = self.taken % 8;
        let length = (skipped + bits).div_ceil(8);
        let covering = self.bytes.iter().skip(self.taken / 8).take(length).map(|byte| u128::from(*byte));
        let shifted = match self.order {
            ByteOrder::Little => covering.rev().fold(0, |all, byte| all << 8 | byte) >> skipped,
            ByteOrder::Big => covering.fold(0, |all, byte| all << 8 | byte) >> (length * 8 - skipped - bits),
        };
        self.taken += bits;
        (shifted & ((1 << bits) - 1)) as u64
    }

    /// Takes a number of up to 32 bits.
    pub(crate) fn word(&mut self, bits: usize) -> u32 {
        self.long(bits) as u32
    }

    /// Takes a number of up to 16 bits.
    pub(crate) fn half(&mut self, bits: usize) -> u16 {
        self.long(bits) as u16
    }

    /// Skips bits.
    pub(crate) fn skip(&mut self, bits: usize) {
        self.taken += bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_bits_in_both_orders() {
        // The start of a directory inode of version 2: type 1, permissions 0755, owner 2, group 255, size 0x12345, offset 0x678.
        let mut little = Fields::new(*b"\xd1\x1e\x02\xff\x45\x23\xc1\x33", ByteOrder::Little);
        let mut big = Fields::new(*b"\x11\xed\x02\xff\x24\x68\xa6\x78", ByteOrder::Big);
        for (bits, number) in [(4, 1), (12, 0o755), (8, 2), (8, 255), (19, 0x12345), (13, 0x678)] {
            assert_eq!((little.long(bits), big.long(bits)), (number, number), "{bits}");
        }
    }

    #[test]
    fn takes_numbers_that_cross_nine_bytes() {
        let number = 0x0123_4567_89ab_cdef_u64;
        let little = (u128::from(number) << 4).to_le_bytes();
        let big = (u128::from(number) << 60).to_be_bytes();
        for (bytes, order) in [(little, ByteOrder::Little), (big, ByteOrder::Big)] {
            let mut fields = Fields::new(bytes, order);
            fields.skip(4);
            assert_eq!(fields.long(64), number, "{order}");
        }
    }

    #[test]
    fn names_what_differs_from_the_current_format() {
        assert_eq!(Layout::CURRENT.to_string(), "SquashFS 4.0");
        let order = ByteOrder::Big;
        let old = Layout { magic: *b"shsq", major: 3, minor: 1, order, ..Layout::CURRENT };
        assert_eq!(old.to_string(), "SquashFS 3.1, big-endian, magic \"shsq\"");
        assert_eq!(Layout { magic: *b"sqsh", ..old }.to_string(), "SquashFS 3.1, big-endian");
    }
}
