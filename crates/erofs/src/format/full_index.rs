//! The full index: 8 bytes for each logical cluster of a file.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 2 | bits 0 and 1: type; bit 15: the extent is a part of a stored cluster |
//! | 2 | 2 | offset at which the extent starts in the logical cluster |
//! | 4 | 4 | number of the first block; if no extent starts here, 16 bits of distance to the start and 16 bits of distance to the next one |
//!
//! The index starts 16 bytes after the start of the map header. The distance to the next start is not used, because old programs wrote zeros.

use super::cluster::{Cluster, Head, IndexEntry, Inside, Start};

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 8;
/// Offset of the index from the start of the map header.
pub(crate) const INDEX_START: u64 = 16;
const PARTIAL: u16 = 1 << 15;

pub(crate) fn decode(bytes: [u8; ENTRY_BYTES]) -> Cluster {
    let [flags_low, flags_high, offset_low, offset_high, a, b, c, d] = bytes;
    match Head::of_type(flags_low) {
        None => Cluster::Inside(Inside::of(u16::from_le_bytes([a, b]))),
        Some(head) => Cluster::Start(Start {
            head,
            offset: u16::from_le_bytes([offset_low, offset_high]).into(),
            block: u32::from_le_bytes([a, b, c, d]).into(),
            is_partial: u16::from_le_bytes([flags_low, flags_high]) & PARTIAL != 0,
        }),
    }
}

pub(crate) fn encode(entry: IndexEntry) -> [u8; ENTRY_BYTES] {
    let IndexEntry { cluster, next } = entry;
    let (flags, offset, rest) = match cluster {
        Cluster::Start(start) => (if start.is_partial { PARTIAL } else { 0 }, start.offset as u16, start.block as u32),
        Cluster::Inside(inside) => (0, 0, u32::from(inside.distance()) | u32::from(next) << 16),
    };
    let [a, b] = (flags | cluster.type_number()).to_le_bytes();
    let [c, d] = offset.to_le_bytes();
    let [e, f, g, h] = rest.to_le_bytes();
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_each_type() {
        let start = |head, is_partial| Cluster::Start(Start { head, offset: 0x0302, block: 0x0706_0504, is_partial });
        assert_eq!(decode([0, 0, 2, 3, 4, 5, 6, 7]), start(Head::Plain, false));
        assert_eq!(decode([1, 0x80, 2, 3, 4, 5, 6, 7]), start(Head::First, true));
        assert_eq!(decode([3, 0, 2, 3, 4, 5, 6, 7]), start(Head::Second, false));
        assert_eq!(decode([2, 0, 0, 0, 7, 1, 9, 9]), Cluster::Inside(Inside { back: 0x107, blocks: None }));
        assert_eq!(decode([2, 0, 0, 0, 7, 9, 9, 9]), Cluster::Inside(Inside { back: 1, blocks: Some(0x107) }));
    }

    #[test]
    fn decodes_what_it_encodes() {
        for (cluster, next) in [
            (Cluster::Start(Start { head: Head::Plain, offset: 4095, block: 7, is_partial: false }), 0),
            (Cluster::Start(Start { head: Head::First, offset: 0, block: u32::MAX.into(), is_partial: true }), 0),
            (Cluster::Start(Start { head: Head::Second, offset: 1, block: 0, is_partial: false }), 0),
            (Cluster::Inside(Inside { back: 2047, blocks: None }), 9),
            (Cluster::Inside(Inside { back: 1, blocks: Some(256) }), 0x7ff),
        ] {
            let bytes = encode(IndexEntry { cluster, next });
            assert_eq!(decode(bytes), cluster);
            if matches!(cluster, Cluster::Inside(_)) {
                assert_eq!(bytes[6..], next.to_le_bytes());
            }
        }
    }
}
