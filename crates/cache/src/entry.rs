//! Entries as bytes: a header with a checksum, then the compressed block.
//!
//! ```text
//!  0  4  magic: plbc
//!  4  1  0: a compressed block follows; 1: the block does not get smaller, and nothing follows
//!  5  3  zeros
//!  8 16  the start of the BLAKE3 hash of: the key, the byte at 4, the CRC-32 and the length of the compressed block
//! 24     the compressed block
//! ```
//!
//! If the encoder stores blocks in clusters, which the key says, the clusters are listed before the compressed block, as a part of it:
//!
//! ```text
//! 0  4  the number of clusters
//! 4  8  for each cluster: 4 bytes for its bytes of content; 4 for its stored bytes, with bit 24 set if it is not compressed
//! ```
//!
//! In an entry for a part of a file on a server ([`crate::Parts`]), the bytes of the part follow the header as they are.
//!
//! The checksum detects accidents, such as a changed bit that no decoder reads. The content is compared as well.

use crate::key::Key;

/// Bytes before the compressed block.
pub const HEADER: usize = 24;
/// Bytes read beyond the largest entry. 1 byte is enough to detect a file that is too large. A server's reply needs more, because it
/// wraps the entry in a message.
pub const MORE: usize = 1 << 10;
const MAGIC: &[u8; 4] = b"plbc";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    Compressed(&'a [u8]),
    NotSmaller,
}

impl<'a> Entry<'a> {
    /// The header, which [`Entry::block`] follows.
    pub fn header(&self, key: &Key) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(MAGIC);
        header[4] = self.kind();
        header[8..].copy_from_slice(&checksum(key, self.kind(), self.block()));
        header
    }

    pub fn block(&self) -> &'a [u8] {
        match self {
            Entry::Compressed(block) => block,
            Entry::NotSmaller => &[],
        }
    }

    /// Parses a complete file. `None` if it is damaged.
    pub fn parse(key: &Key, bytes: &'a [u8]) -> Option<Entry<'a>> {
        let (header, block) = bytes.split_at_checked(HEADER)?;
        let entry = match header[4] {
            0 => Entry::Compressed(block),
            1 if block.is_empty() => Entry::NotSmaller,
            _ => return None,
        };
        (header == entry.header(key)).then_some(entry)
    }

    fn kind(&self) -> u8 {
        match self {
            Entry::Compressed(_) => 0,
            Entry::NotSmaller => 1,
        }
    }
}

fn checksum(key: &Key, kind: u8, block: &[u8]) -> [u8; 16] {
    let crc = crc32fast::hash(block).to_le_bytes();
    let length = (block.len() as u64).to_le_bytes();
    let hash = blake3::Hasher::new().update(key.bytes()).update(&[kind]).update(&crc).update(&length).finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&hash.as_bytes()[..16]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{ContentDigest, KeyMaker};

    #[test]
    fn detects_each_changed_bit() {
        let keys = KeyMaker::for_encoder(&[7; 32]);
        let (key, other) = (keys.key(&ContentDigest::of(b"a")), keys.key(&ContentDigest::of(b"b")));
        for entry in [Entry::Compressed(b"compressed"), Entry::NotSmaller] {
            let mut bytes = [&entry.header(&key)[..], entry.block()].concat();
            assert_eq!(Entry::parse(&key, &bytes), Some(entry));
            assert_eq!(Entry::parse(&other, &bytes), None);
            assert_eq!(Entry::parse(&key, &bytes[..bytes.len() - 1]), None);
            for bit in 0..bytes.len() * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Entry::parse(&key, &bytes), None, "bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
