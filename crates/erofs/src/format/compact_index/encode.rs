//! Writes compact indexes, one logical cluster after another.

use super::{ADDRESS_BYTES, CompactIndex, CompactParameters, LONG_BYTES, LONG_COUNT, SHORT_BYTES, SHORT_COUNT};
use crate::format::cluster::{Cluster, HAS_BLOCKS, IndexEntry, Inside};

/// Encodes the index of a file whose clusters are stored one after another. Logical clusters have 4096 bytes at most.
#[derive(Debug)]
pub(crate) struct CompactEncoder {
    index: CompactIndex,
    count: u64,
    /// Entries of the current pack.
    pack: Vec<IndexEntry>,
    /// Number of entries before the pack.
    done: u64,
    /// The block after the clusters so far, except for the last one while its number of blocks is not known.
    block: u32,
    /// Whether the number of blocks of the last cluster is not known yet.
    is_open: bool,
}

/// Returns the bytes of an index with a number of entries that starts at an offset, a multiple of 8.
pub(crate) fn bytes_of(parameters: CompactParameters) -> Option<u64> {
    let index = CompactIndex::new(parameters)?;
    let last = parameters.count.checked_sub(1)?;
    Some(index.place(last).end() - parameters.start)
}

impl CompactEncoder {
    /// `block`: the first block of the file. `None` if the logical clusters are too large.
    pub(crate) fn new(parameters: CompactParameters, block: u32) -> Option<CompactEncoder> {
        let index = CompactIndex::new(parameters)?;
        // Without clusters of several blocks, an address is that of the block before.
        let (block, is_open) = if parameters.is_big { (block, false) } else { (block.wrapping_sub(1), true) };
        let pack = Vec::with_capacity(SHORT_COUNT as usize);
        Some(CompactEncoder { index, count: parameters.count, pack, done: 0, block, is_open })
    }

    /// Adds the next entry, and appends its pack if the pack is complete.
    pub(crate) fn push(&mut self, entry: IndexEntry, out: &mut Vec<u8>) {
        self.pack.push(entry);
        let length = self.pack.len() as u64;
        let is_last = self.done + length == self.count;
        let count = if self.index.place(self.done).bytes == SHORT_BYTES as usize { SHORT_COUNT } else { LONG_COUNT };
        if length == count || is_last {
            self.end_pack(count as usize, out);
            self.done += length;
            self.pack.clear();
        }
    }

    /// Appends the pack, which has space for `count` values.
    fn end_pack(&mut self, count: usize, out: &mut Vec<u8>) {
        let bytes = if count == LONG_COUNT as usize { LONG_BYTES } else { SHORT_BYTES } as usize;
        let values = bytes - ADDRESS_BYTES;
        let bits = values * 8 / count;
        let mut address = self.block;
        let mut has_start = !self.index.is_big;
        let from = out.len();
        out.resize(from + values, 0);
        for number in 0..self.pack.len() {
            let IndexEntry { cluster, next } = self.pack[number];
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
                    self.block = self.block.wrapping_add(blocks.into());
                    self.is_open = false;
                    HAS_BLOCKS | blocks
                }
                Cluster::Inside(_) if number + 1 == count => next,
                Cluster::Inside(inside) => inside.distance(),
            };
            let value = u32::from(low) | u32::from(cluster.type_number()) << self.index.low_bits;
            put_bits(&mut out[from..], number * bits, value);
        }
        out.extend_from_slice(&address.to_le_bytes());
    }
}

/// Adds the bits of a value at bit `at`, which were zero.
fn put_bits(bytes: &mut [u8], at: usize, value: u32) {
    for (target, byte) in bytes.iter_mut().skip(at / 8).zip((value << (at % 8)).to_le_bytes()) {
        *target |= byte;
    }
}
