//! The header of the map of a compressed inode, which says how its extents are stored.
//!
//! The header has 8 bytes. It starts at the first multiple of 8 after the inode and its extended attributes.
//!
//! | offset | size | field |
//! |--:|--:|---|
//! | 0 | 4 | low 32 bits of the position in the packed inode, or 16 bits of 0 and the bytes of the inline cluster, or the number of extents |
//! | 4 | 2 | flags |
//! | 6 | 1 | algorithms of both kinds of heads, 4 bits each; for encoded extents, bits 32 to 39 of their number |
//! | 7 | 1 | logarithm of blocks of a logical cluster; bit 7: the whole file is in the packed inode, at the position in bits 0 to 62 of all 8 bytes |

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 8;

/// With the compact index: some entries have 2 bytes. With the full index: the extents are encoded, without an index.
const SHORT_OR_EXTENTS: u16 = 1;
const BIG_FIRST: u16 = 1 << 1;
const BIG_SECOND: u16 = 1 << 2;
const INLINE: u16 = 1 << 3;
const INTERLACED: u16 = 1 << 4;
const FRAGMENT: u16 = 1 << 5;
const WHOLE_FRAGMENT: u64 = 1 << 63;

/// How the extents of a file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapHeader {
    /// All of the file is in the packed inode, at an offset.
    WholeFragment(u64),
    Index(IndexHeader),
    Extents(ExtentsHeader),
}

/// The header of a file with an index of logical clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexHeader {
    /// Logarithm of the size of a logical cluster in bytes.
    pub(crate) cluster_bits: u8,
    /// Whether the compact index has entries of 2 bytes.
    pub(crate) has_short: bool,
    /// Whether clusters of the first kind may have more than one block.
    pub(crate) big_first: bool,
    /// Whether plain clusters and those of the second kind may have more than one block.
    pub(crate) big_second: bool,
    /// Whether a plain cluster starts at the offset of its content in the block, and continues at the start of the block.
    pub(crate) is_interlaced: bool,
    /// Numbers of the algorithms of both kinds of heads.
    pub(crate) algorithms: [u8; 2],
    pub(crate) tail: Tail,
}

/// Where the last extent of a file with an index is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// In a cluster, as all extents.
    Cluster,
    /// After the index.
    Inline {
        /// Bytes stored; at least one.
        stored: u16,
    },
    /// In the packed inode.
    Fragment {
        /// Low 32 bits of the offset in the packed inode.
        low: u32,
    },
}

/// The header of a file with encoded extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExtentsHeader {
    /// Bytes of a record: 4, 8, 16 or 32.
    pub(crate) record_bytes: u8,
    /// Logarithm of the bytes of each extent but the last, for records of 4 and 8 bytes.
    pub(crate) extent_bits: u8,
    /// Number of extents, for records of 16 and 32 bytes.
    pub(crate) count: u64,
    /// As for an index. It concerns extents in complete blocks.
    pub(crate) is_interlaced: bool,
    /// Whether the last extent is in the packed inode.
    pub(crate) has_fragment: bool,
}

impl MapHeader {
    /// `compact`: the inode's layout is the compact index; `block_bits`: logarithm of the block size.
    pub(crate) fn decode(bytes: [u8; HEADER_BYTES], compact: bool, block_bits: u8) -> MapHeader {
        let all = u64::from_le_bytes(bytes);
        if all & WHOLE_FRAGMENT != 0 {
            return MapHeader::WholeFragment(all ^ WHOLE_FRAGMENT);
        }
        let [_, _, third, fourth, flags @ .., algorithms, bits] = bytes;
        let flags = u16::from_le_bytes(flags);
        let has = |flag: u16| flags & flag != 0;
        let cluster_bits = block_bits + (bits & 15);
        if !compact && has(SHORT_OR_EXTENTS) {
            return MapHeader::Extents(ExtentsHeader {
                record_bytes: 4 << (flags >> 1 & 3),
                extent_bits: cluster_bits,
                count: all & 0xffff_ffff | (all >> 48) << 32,
                is_interlaced: has(INTERLACED),
                has_fragment: has(FRAGMENT),
            });
        }
        let stored = u16::from_le_bytes([third, fourth]);
        MapHeader::Index(IndexHeader {
            cluster_bits,
            has_short: has(SHORT_OR_EXTENTS),
            big_first: has(BIG_FIRST),
            big_second: has(BIG_SECOND),
            is_interlaced: has(INTERLACED),
            algorithms: [algorithms & 15, algorithms >> 4],
            tail: match stored {
                _ if has(FRAGMENT) => Tail::Fragment { low: all as u32 },
                1.. if has(INLINE) => Tail::Inline { stored },
                _ => Tail::Cluster,
            },
        })
    }
}

impl MapHeader {
    /// Encodes the header. The inverse of [`MapHeader::decode`].
    pub(crate) fn encode(&self, block_bits: u8) -> [u8; HEADER_BYTES] {
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        let all = match self {
            MapHeader::WholeFragment(offset) => offset | WHOLE_FRAGMENT,
            MapHeader::Extents(header) => {
                let flags = SHORT_OR_EXTENTS
                    | (header.record_bytes.ilog2() as u16 - 2) << 1
                    | flag(header.is_interlaced, INTERLACED)
                    | flag(header.has_fragment, FRAGMENT);
                // Short records have no number, and long ones no common size.
                let rest = if header.record_bytes <= 8 {
                    u64::from(header.extent_bits - block_bits) << 56
                } else {
                    header.count & 0xffff_ffff | header.count >> 32 << 48
                };
                rest | u64::from(flags) << 32
            }
            MapHeader::Index(header) => {
                let (low, tail) = match header.tail {
                    Tail::Cluster => (0, 0),
                    Tail::Inline { stored } => (u64::from(stored) << 16, INLINE),
                    Tail::Fragment { low } => (low.into(), FRAGMENT),
                };
                let flags = tail
                    | flag(header.has_short, SHORT_OR_EXTENTS)
                    | flag(header.big_first, BIG_FIRST)
                    | flag(header.big_second, BIG_SECOND)
                    | flag(header.is_interlaced, INTERLACED);
                let [first, second] = header.algorithms;
                let last = u64::from(header.cluster_bits - block_bits) << 56;
                low | u64::from(flags) << 32 | u64::from(first | second << 4) << 48 | last
            }
        };
        all.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_an_index_with_each_kind_of_tail() {
        let index = |bytes, compact| match MapHeader::decode(bytes, compact, 12) {
            MapHeader::Index(index) => index,
            other => panic!("{other:?}"),
        };
        let plain = index([0, 0, 9, 0, 0x17, 0, 0x31, 2], true);
        assert_eq!(
            plain,
            IndexHeader {
                cluster_bits: 14,
                has_short: true,
                big_first: true,
                big_second: true,
                is_interlaced: true,
                algorithms: [1, 3],
                tail: Tail::Cluster,
            }
        );
        assert_eq!(index([0, 0, 9, 1, 8, 0, 0, 0], false).tail, Tail::Inline { stored: 0x109 });
        assert_eq!(index([0, 0, 0, 0, 8, 0, 0, 0], false).tail, Tail::Cluster);
        assert_eq!(index([1, 2, 3, 4, 0x28, 0, 0, 0], false).tail, Tail::Fragment { low: 0x0403_0201 });
    }

    #[test]
    fn decodes_what_it_encodes() {
        for tail in [Tail::Cluster, Tail::Inline { stored: 0x1234 }, Tail::Fragment { low: 0x1234_5678 }] {
            for bits in 0..16u8 {
                let header = MapHeader::Index(IndexHeader {
                    cluster_bits: 12 + bits % 3,
                    has_short: bits & 1 != 0,
                    big_first: bits & 2 != 0,
                    big_second: bits & 4 != 0,
                    is_interlaced: bits & 8 != 0,
                    algorithms: [bits, 15 - bits],
                    tail,
                });
                assert_eq!(MapHeader::decode(header.encode(12), true, 12), header);
            }
        }
        for (record_bytes, extent_bits, count) in [(4, 12, 0), (8, 27, 0), (16, 12, (1 << 47) - 1), (32, 12, 5)] {
            for has_fragment in [false, true] {
                let is_interlaced = !has_fragment;
                let header = ExtentsHeader { record_bytes, extent_bits, count, is_interlaced, has_fragment };
                let MapHeader::Extents(found) = MapHeader::decode(MapHeader::Extents(header).encode(12), false, 12)
                else {
                    panic!("no extents")
                };
                let found = if record_bytes > 8 {
                    ExtentsHeader { extent_bits, ..found }
                } else {
                    ExtentsHeader { count, ..found }
                };
                assert_eq!(found, header);
            }
        }
        let whole = MapHeader::WholeFragment((1 << 63) - 1);
        assert_eq!(MapHeader::decode(whole.encode(12), false, 12), whole);
    }

    #[test]
    fn decodes_whole_fragments_and_extents() {
        let whole = MapHeader::decode([1, 0, 0, 0, 0, 0, 1, 0x80], false, 12);
        assert_eq!(whole, MapHeader::WholeFragment(0x0001_0000_0000_0001));
        let extents = |flags: u8| MapHeader::decode([5, 0, 0, 0, flags, 0, 2, 0], false, 12);
        let MapHeader::Extents(found) = extents(0x35) else { panic!("no extents") };
        assert_eq!((found.record_bytes, found.count), (16, 5 | 2 << 32));
        assert!(found.is_interlaced && found.has_fragment);
        let MapHeader::Extents(found) = MapHeader::decode([0, 0, 0, 0, 3, 0, 0, 15], false, 12) else {
            panic!("no extents")
        };
        assert_eq!((found.record_bytes, found.extent_bits), (8, 27));
        assert!(!found.is_interlaced && !found.has_fragment);
    }
}
