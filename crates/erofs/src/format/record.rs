//! The record at the end of an image of this program: which encoder wrote its blocks, and a checksum.
//!
//! It ends at the end of the last block that the superblock counts, where other readers look for nothing. Before it is a text with the options
//! (`recorded_options.rs`), and before the text the lengths of the segments of the packed inode, 4 bytes each, if blocks are stored in clusters:
//!
//! ```text
//!  0  8  magic: packline
//!  8  2  version: 3; version 2 has no text
//! 10  1  bit 0: each block that is not compressed did not get smaller
//! 11  1  bytes of the text
//! 12  4  CRC-32 of all bytes from byte 4096 of the image to the lengths; in version 1, to the end of the data area
//! 16 16  the encoder: start of a BLAKE3 hash of its revision, form, block size, library and codec
//! 32  8  offset of the end of the data area
//! 40  4  number of lengths before the record
//! 44  4  CRC-32 of the lengths and the text
//! 48 16  start of the BLAKE3 hash of the 48 bytes before
//! ```

use packline_volume::ReadError;

use crate::format::corrupt;

/// Length of a record in bytes.
pub(crate) const RECORD_BYTES: usize = 64;
/// Most lengths before a record: packed inodes of 4 TiB and more have no record.
pub(crate) const LENGTHS_MOST: usize = 1 << 22;
/// Bytes of a length.
pub(crate) const LENGTH_BYTES: usize = 4;
const MAGIC: &[u8; 8] = b"packline";
const VERSION: u16 = 3;
/// The version without a text.
const VERSION_WITHOUT_TEXT: u16 = 2;
/// The version whose checksum is that of the data area.
const VERSION_OF_DATA: u16 = 1;
/// Bit of the flags: the encoder tried to compress each block.
const ALL_TRIED: u8 = 1;
/// Bytes before the record's own hash.
const HASHED: usize = 48;

/// The start of a BLAKE3 hash.
pub(crate) type Hash = [u8; 16];

/// A record without the lengths and the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// CRC-32 of the data area, and of the metadata if `has_metadata` is set.
    pub(crate) checksum: u32,
    /// Whether the checksum includes all that follows the data area, up to the lengths.
    pub(crate) has_metadata: bool,
    /// Offset of the end of the data area.
    pub(crate) data_end: u64,
    /// Whether compression was tried for each block that is not compressed.
    pub(crate) all_tried: bool,
    /// The encoder of the blocks.
    pub(crate) encoder: Hash,
    /// Number of the lengths, at most [`LENGTHS_MOST`].
    pub(crate) lengths: u32,
    /// Bytes of the text.
    pub(crate) text_bytes: u8,
    /// CRC-32 of the lengths and the text.
    pub(crate) tail_sum: u32,
}

impl Record {
    /// Returns the bytes of the lengths before the record.
    pub(crate) fn lengths_bytes(&self) -> usize {
        self.lengths as usize * LENGTH_BYTES
    }

    /// Returns the bytes of the lengths and the text before the record.
    pub(crate) fn tail_bytes(&self) -> usize {
        self.lengths_bytes() + usize::from(self.text_bytes)
    }

    pub(crate) fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        out[..8].copy_from_slice(MAGIC);
        let version = match (self.has_metadata, self.text_bytes) {
            (false, _) => VERSION_OF_DATA,
            (true, 0) => VERSION_WITHOUT_TEXT,
            (true, _) => VERSION,
        };
        out[8..10].copy_from_slice(&version.to_le_bytes());
        out[10] = if self.all_tried { ALL_TRIED } else { 0 };
        out[11] = self.text_bytes;
        out[12..16].copy_from_slice(&self.checksum.to_le_bytes());
        out[16..32].copy_from_slice(&self.encoder);
        out[32..40].copy_from_slice(&self.data_end.to_le_bytes());
        out[40..44].copy_from_slice(&self.lengths.to_le_bytes());
        out[44..48].copy_from_slice(&self.tail_sum.to_le_bytes());
        let hash = start_of_hash(&blake3::hash(&out[..HASHED]));
        out[HASHED..].copy_from_slice(&hash);
        out
    }

    /// Decodes the record at byte `at` of an image; `None` if there is none that this version knows.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the record is damaged.
    pub(crate) fn decode(bytes: &[u8; RECORD_BYTES], at: u64) -> Result<Option<Record>, ReadError> {
        if bytes[..8] != MAGIC[..] {
            return Ok(None);
        }
        if start_of_hash(&blake3::hash(&bytes[..HASHED])) != bytes[HASHED..] {
            return Err(corrupt(at, "the record of the encoder is damaged", "its own hash at its end"));
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let version = word(8) as u16;
        let record = Record {
            checksum: word(12),
            has_metadata: version != VERSION_OF_DATA,
            data_end: u64::from(word(32)) | u64::from(word(36)) << 32,
            all_tried: bytes[10] & ALL_TRIED != 0,
            encoder: std::array::from_fn(|index| bytes[16 + index]),
            lengths: word(40),
            text_bytes: if version == VERSION { bytes[11] } else { 0 },
            tail_sum: word(44),
        };
        let is_known = (VERSION_OF_DATA..=VERSION).contains(&version) && record.lengths as usize <= LENGTHS_MOST;
        Ok(is_known.then_some(record))
    }
}

/// Returns the start of a hash.
pub(crate) fn start_of_hash(hash: &blake3::Hash) -> Hash {
    std::array::from_fn(|index| hash.as_bytes()[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_bit_is_found() {
        let record = Record {
            checksum: 0x0102_0304,
            has_metadata: true,
            data_end: 0x1122_3344_5566,
            all_tried: true,
            encoder: [7; 16],
            lengths: 3,
            text_bytes: 70,
            tail_sum: 9,
        };
        let mut bytes = record.encode();
        assert_eq!(Record::decode(&bytes, 0).unwrap(), Some(record));
        assert_eq!(&bytes[..16], b"packline\x03\0\x01\x46\x04\x03\x02\x01");
        for bit in 64..RECORD_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&bytes, 0).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        bytes[0] = b'P';
        assert_eq!(Record::decode(&bytes, 0).unwrap(), None);
    }

    #[test]
    fn records_of_later_versions_are_ignored() {
        let lengths = LENGTHS_MOST as u32 + 1;
        let record = Record {
            checksum: 0,
            has_metadata: true,
            data_end: 4096,
            all_tried: false,
            encoder: [0; 16],
            lengths,
            text_bytes: 0,
            tail_sum: 0,
        };
        assert_eq!(Record::decode(&record.encode(), 0).unwrap(), None);
        let earlier = [
            Record { has_metadata: false, lengths: 1, ..record },
            Record { lengths: 1, ..record },
            Record { lengths: 1, text_bytes: 255, ..record },
        ];
        for (version, record) in (1..).zip(earlier) {
            let mut bytes = record.encode();
            assert_eq!((bytes[8], Record::decode(&bytes, 0).unwrap()), (version, Some(record)));
            bytes[8] = VERSION as u8 + version;
            let hash = start_of_hash(&blake3::hash(&bytes[..HASHED]));
            bytes[HASHED..].copy_from_slice(&hash);
            assert_eq!(Record::decode(&bytes, 0).unwrap(), None);
        }
    }
}
