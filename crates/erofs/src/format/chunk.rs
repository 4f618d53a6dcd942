//! The format of chunks, and the entries of chunked files.
//!
//! The start of a chunked inode: bits 0 to 4 are the logarithm of the blocks of a chunk, bit 5 is set for indexes, bit 6 for block numbers of 48
//! bits. An entry is a block number of 4 bytes, or an index of 8 bytes: bits 32 to 47 of the block number u16, device u16, block number u32.
//! Entries are aligned to their size. A block number of ones is a hole.

use packline_volume::ReadError;

use super::corrupt;
use super::wire::put;

/// Length of an index in bytes.
pub(crate) const INDEX_BYTES: usize = 8;
const INDEXES: u64 = 1 << 5;
const WIDE: u64 = 1 << 6;
const FORMAT_BITS: u64 = 0x7f;
/// The format is 2 bytes of the start.
const FORMAT_MASK: u64 = 0xffff;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkFormat {
    /// Logarithm of the chunk size in bytes, 9 to 47.
    pub(crate) bits: u8,
    pub(crate) indexes: bool,
    /// Bits of a block number.
    mask: u64,
}

/// Where a chunk starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkStart {
    /// Number of the device, before it is masked; 0 for all devices together.
    pub(crate) device: u16,
    pub(crate) block: u64,
}

impl ChunkFormat {
    /// Decodes the start of an inode. `address`: the inode's end, for messages.
    pub(crate) fn decode(start: u64, block_bits: u8, address: u64) -> Result<ChunkFormat, ReadError> {
        let format = start & FORMAT_MASK;
        if format & !FORMAT_BITS != 0 {
            return Err(corrupt(address, format!("chunked inode of format {format:#x}"), "bits 0 to 6"));
        }
        let mask = if format & WIDE != 0 { (1 << 48) - 1 } else { u32::MAX.into() };
        Ok(ChunkFormat { bits: block_bits + (format & 0x1f) as u8, indexes: format & INDEXES != 0, mask })
    }

    /// Returns the start of an inode whose chunks have 2^bits blocks, and entries of 4 bytes.
    pub(crate) fn of_block_numbers(bits: u8) -> u64 {
        u64::from(bits & 0x1f)
    }

    /// Encodes an entry of 4 bytes.
    pub(crate) fn entry(block: Option<u32>) -> [u8; 4] {
        block.unwrap_or(u32::MAX).to_le_bytes()
    }

    /// Returns the start of an inode whose chunks have 2^bits blocks, and indexes.
    pub(crate) fn of_indexes(bits: u8) -> u64 {
        u64::from(bits & 0x1f) | INDEXES
    }

    /// Encodes an index to a block of a device; `None` is a hole.
    pub(crate) fn index_entry(device: u16, block: Option<u32>) -> [u8; INDEX_BYTES] {
        let device = if block.is_some() { device } else { 0 };
        let mut bytes = [0; INDEX_BYTES];
        put(&mut bytes, 2, device.to_le_bytes());
        put(&mut bytes, 4, block.unwrap_or(u32::MAX).to_le_bytes());
        bytes
    }

    /// Returns the size of an entry in bytes.
    pub(crate) fn entry_bytes(&self) -> u64 {
        if self.indexes { INDEX_BYTES as u64 } else { 4 }
    }

    /// Decodes an index of 8 bytes; `None` for a hole.
    pub(crate) fn index(&self, index: u64) -> Option<ChunkStart> {
        let block = (index >> 32 | (index & 0xffff) << 32) & self.mask;
        (block != self.mask).then_some(ChunkStart { device: (index >> 16) as u16, block })
    }

    /// Decodes a block number of 4 bytes; `None` for a hole.
    pub(crate) fn block_number(number: u32) -> Option<ChunkStart> {
        (number != u32::MAX).then_some(ChunkStart { device: 0, block: number.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_it_encodes() {
        let format = ChunkFormat::decode(ChunkFormat::of_block_numbers(5), 12, 0).unwrap();
        assert_eq!((format.bits, format.entry_bytes()), (17, 4));
        let found = |block| ChunkFormat::block_number(u32::from_le_bytes(ChunkFormat::entry(block)));
        assert_eq!(found(Some(77)), Some(ChunkStart { device: 0, block: 77 }));
        assert_eq!(found(None), None);
        let format = ChunkFormat::decode(ChunkFormat::of_indexes(5), 9, 0).unwrap();
        assert_eq!((format.bits, format.entry_bytes()), (14, 8));
        let found = |block| format.index(u64::from_le_bytes(ChunkFormat::index_entry(1, block)));
        assert_eq!(found(Some(77)), Some(ChunkStart { device: 1, block: 77 }));
        assert_eq!(found(None), None);
    }

    #[test]
    fn decodes_indexes_of_48_bits() {
        let format = ChunkFormat::decode(0x63, 12, 0).unwrap();
        assert_eq!((format.bits, format.entry_bytes()), (15, 8));
        let index = u64::from_le_bytes([2, 1, 3, 0, 4, 5, 6, 7]);
        assert_eq!(format.index(index), Some(ChunkStart { device: 3, block: 0x0102_0706_0504 }));
        assert_eq!(format.index(u64::from_le_bytes([255, 255, 3, 0, 255, 255, 255, 255])), None);
        let narrow = ChunkFormat::decode(0x20, 12, 0).unwrap();
        assert_eq!(narrow.index(index), Some(ChunkStart { device: 3, block: 0x0706_0504 }));
        assert_eq!(narrow.index(u64::from_le_bytes([0, 0, 3, 0, 255, 255, 255, 255])), None);
        assert!(ChunkFormat::decode(0x80, 12, 0).is_err());
    }
}
