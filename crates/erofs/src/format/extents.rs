//! Encoded extents: one record for each extent of a file, without an index.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 4 | bits 0 to 20: stored bytes, 0 for a hole; bit 27: the extent is a part of the cluster; bits 28 to 31: algorithm plus 1, 0 for plain |
//! | 4 | 4 | low 32 bits of the position of the stored bytes |
//! | 8 | 4 | high 32 bits of the position |
//! | 12 | 4 | low 32 bits of the offset in the file |
//! | 16 | 4 | high 32 bits of the offset in the file |
//! | 20 | 12 | 0 |
//!
//! A file's records have their first 4, 8, 16 or 32 bytes. With 4 or 8 bytes, all extents but the last have the same length. With 4 bytes, the
//! position of the first extent precedes the records, and each extent is stored at the end of the one before. The records start at the first
//! multiple of their size after the map header.
//!
//! If the last extent is in the packed inode, the first 4 bytes of its record are the low half of its offset there, and the next 4 the high half.

use super::wire::put;

/// Bits of the number of stored bytes.
const STORED: u32 = (1 << 21) - 1;
const PARTIAL: u32 = 1 << 27;
const ALGORITHM_SHIFT: u32 = 28;

/// Most bytes of a record.
pub(crate) const RECORD_MOST: usize = 32;
/// Bytes of the position before records of 4 bytes.
pub(crate) const POSITION_BYTES: u64 = 8;

/// A record without its offset in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    word: u32,
    /// Position of the stored bytes; 0 if the record does not have it.
    pub(crate) position: u64,
    /// Offset of the extent in the file; 0 if the record does not have it.
    pub(crate) start: u64,
}

impl Record {
    /// `bytes`: a record of any size.
    pub(crate) fn decode(bytes: &[u8]) -> Record {
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
            word.map_or(0, |word| u32::from_le_bytes(*word))
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Record { word: word(0), position: long(4), start: long(12) }
    }

    /// A hole.
    pub(crate) fn hole(start: u64) -> Record {
        Record { word: 0, position: 0, start }
    }

    /// Content that is stored as it is, in less than 2 MiB.
    pub(crate) fn plain(start: u64, position: u64, stored: u32) -> Record {
        Record { word: stored & STORED, position, start }
    }

    /// Compressed content in less than 2 MiB. `algorithm`: less than 15.
    pub(crate) fn coded(start: u64, position: u64, stored: u32, coding: (u8, bool)) -> Record {
        let (algorithm, is_partial) = coding;
        let partial = if is_partial { PARTIAL } else { 0 };
        let word = stored & STORED | partial | (u32::from(algorithm) + 1) << ALGORITHM_SHIFT;
        Record { word, position, start }
    }

    /// Content at an offset of the packed inode.
    pub(crate) fn in_packed(start: u64, offset: u64) -> Record {
        Record { word: offset as u32, position: offset >> 32, start }
    }

    /// Encodes the longest form of the record. Shorter forms are its start.
    pub(crate) fn encode(&self) -> [u8; RECORD_MOST] {
        let mut bytes = [0; RECORD_MOST];
        put(&mut bytes, 0, self.word.to_le_bytes());
        put(&mut bytes, 4, self.position.to_le_bytes());
        put(&mut bytes, 12, self.start.to_le_bytes());
        bytes
    }

    /// Returns the number of stored bytes; 0 for a hole.
    pub(crate) fn stored(&self) -> u32 {
        self.word & STORED
    }

    /// Whether the stored cluster may have more content than the extent.
    pub(crate) fn is_partial(&self) -> bool {
        self.word & PARTIAL != 0
    }

    /// Returns the number of the algorithm; `None` for plain bytes.
    pub(crate) fn algorithm(&self) -> Option<u8> {
        ((self.word >> ALGORITHM_SHIFT) as u8).checked_sub(1)
    }

    /// Returns the offset in the packed inode of an extent there.
    pub(crate) fn fragment(&self) -> u64 {
        u64::from(self.word) | self.position << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_it_encodes() {
        let start = 0x1234_5678_9abc;
        let position = 0x1122_3344_5566_7788;
        for record in [
            Record::hole(start),
            Record::plain(start, position, (1 << 21) - 1),
            Record::coded(start, position, 77, (3, false)),
            Record::coded(start, position, 77, (14, true)),
            Record::in_packed(start, position),
        ] {
            assert_eq!(Record::decode(&record.encode()), record);
        }
        let coded = Record::coded(0, 0, 77, (3, true));
        assert_eq!((coded.stored(), coded.algorithm(), coded.is_partial()), (77, Some(3), true));
        assert_eq!(Record::in_packed(0, position).fragment(), position);
        assert_eq!((Record::hole(0).stored(), Record::plain(0, 0, 5).algorithm()), (0, None));
    }

    #[test]
    fn decodes_records_of_each_size() {
        let mut bytes = [0; RECORD_MOST];
        bytes[..4].copy_from_slice(&(4 << 28 | 1 << 27 | 0x1f_ffff_u32).to_le_bytes());
        bytes[4..20].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        let record = Record::decode(&bytes);
        assert_eq!((record.stored(), record.is_partial(), record.algorithm()), (0x1f_ffff, true, Some(3)));
        assert_eq!((record.position, record.start), (0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09));
        assert_eq!(record.fragment(), 0x0403_0201_481f_ffff);
        let short = Record::decode(&bytes[..16]);
        assert_eq!((short.position, short.start), (record.position, 0x0c0b_0a09));
        assert_eq!(Record::decode(&bytes[..8]).position, 0x0403_0201);
        assert_eq!(Record::decode(&bytes[..8]).fragment(), 0x0403_0201_481f_ffff);
        assert_eq!(Record::decode(&bytes[..4]).position, 0);
        assert_eq!(Record::decode(&[7, 0, 0, 0]).algorithm(), None);
    }
}
