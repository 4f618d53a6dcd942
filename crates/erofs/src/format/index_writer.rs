//! Encodes indexes, for tests.

use super::cluster::{Cluster, HAS_BLOCKS, Head, Inside};

/// Bits of an offset or a distance with logical clusters of up to 4096 bytes.
const LOW_BITS: u32 = 12;

fn type_of(cluster: Cluster) -> u16 {
    match cluster {
        Cluster::Start(start) => match start.head {
            Head::Plain => 0,
            Head::First => 1,
            Head::Second => 3,
        },
        Cluster::Inside(_) => 2,
    }
}

fn distance(inside: Inside) -> u16 {
    inside.blocks.map_or(inside.back.min(0x7ff) as u16, |blocks| HAS_BLOCKS | blocks)
}

/// Returns the entries of a full index.
pub(crate) fn full(clusters: &[Cluster]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for cluster in clusters {
        let (flags, offset, rest) = match cluster {
            Cluster::Start(start) => (u16::from(start.is_partial) << 15, start.offset as u16, start.block as u32),
            Cluster::Inside(inside) => (0, 0, distance(*inside).into()),
        };
        bytes.extend_from_slice(&(type_of(*cluster) | flags).to_le_bytes());
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&rest.to_le_bytes());
    }
    bytes
}

/// Returns the values of a compact index that starts at an offset. The clusters must be stored one after another, from block `block` on.
pub(crate) fn compact(clusters: &[Cluster], start: u64, block: u32, has_short: bool, is_big: bool) -> Vec<u8> {
    let before = (((32 - start % 32) / 4 % 8) as usize).min(clusters.len());
    let short = if has_short { (clusters.len() - before) / 16 * 16 } else { 0 };
    let (first, rest) = clusters.split_at(before);
    let (middle, last) = rest.split_at(short);
    let block = if is_big { block } else { block.wrapping_sub(1) };
    let mut writer = CompactWriter { clusters, at: 0, is_big, block, is_open: !is_big };
    let mut bytes = Vec::new();
    for (part, count) in [(first, 2), (middle, 16), (last, 2)] {
        for values in part.chunks(count) {
            bytes.extend(writer.pack(values.len(), count));
        }
    }
    bytes
}

struct CompactWriter<'c> {
    clusters: &'c [Cluster],
    /// Number of the next entry.
    at: usize,
    is_big: bool,
    /// The block after the clusters so far, except for the last one while its number of blocks is not known.
    block: u32,
    /// Whether the number of blocks of the last cluster is not known yet.
    is_open: bool,
}

impl CompactWriter<'_> {
    /// Returns a pack of `count` values, of which the last ones may be missing.
    fn pack(&mut self, length: usize, count: usize) -> Vec<u8> {
        let bits = if count == 2 { 16 } else { 14 };
        let mut address = self.block;
        let mut has_start = !self.is_big;
        let mut packed = vec![0; count * bits / 8];
        for number in 0..length {
            let cluster = self.clusters[self.at];
            let low = match cluster {
                Cluster::Start(start) => {
                    self.block = self.block.wrapping_add(u32::from(self.is_open));
                    if self.is_open && !has_start {
                        address = self.block;
                    }
                    has_start = true;
                    self.is_open = true;
                    start.offset as u16
                }
                Cluster::Inside(Inside { blocks: Some(blocks), .. }) => {
                    self.block += u32::from(blocks);
                    self.is_open = false;
                    HAS_BLOCKS | blocks
                }
                Cluster::Inside(_) if number + 1 == count => self.to_next_start(),
                Cluster::Inside(inside) => distance(inside),
            };
            put(&mut packed, number * bits, u32::from(low) | u32::from(type_of(cluster)) << LOW_BITS);
            self.at += 1;
        }
        [packed, address.to_le_bytes().to_vec()].concat()
    }

    fn to_next_start(&self) -> u16 {
        let after = &self.clusters[self.at + 1..];
        let next = after.iter().position(|cluster| matches!(cluster, Cluster::Start(_))).unwrap_or(after.len());
        (next + 1).min(0x7ff) as u16
    }
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    for (index, byte) in (value << (at % 8)).to_le_bytes().into_iter().enumerate() {
        if let Some(target) = bytes.get_mut(at / 8 + index) {
            *target |= byte;
        }
    }
}
