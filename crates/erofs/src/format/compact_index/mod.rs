//! The compact index: 4 or 2 bytes for each logical cluster of a file, in packs that share one address.
//!
//! | pack | bytes | values |
//! |---|--:|---|
//! | long | 8 | 2 values of 16 bits, then 32 bits of address |
//! | short | 32 | 16 values of 14 bits, then 32 bits of address |
//!
//! The index starts 8 bytes after the start of the map header. It starts with as many long packs as there are before the next multiple of 32 bytes;
//! then there are short packs, if the file has them, and long packs for the rest.
//!
//! The low bits of a value (at least 12) are the offset of the start, or a distance; 2 bits above are the type. In the last value of a pack, the
//! distance is that to the next start, unless it is a number of blocks; the distance to the start before is that of the value before, plus 1.
//!
//! The block of a start is the address of its pack plus the blocks of all starts before it in the pack. In files without clusters of more than one
//! block, it is one more.

pub(crate) mod encode;

use super::cluster::{Cluster, HAS_BLOCKS, Head, Inside, Start};

/// Offset of the index from the start of the map header.
pub(crate) const INDEX_START: u64 = 8;
/// Logarithm of the largest logical cluster of a file with short packs.
const SHORT_BITS_MOST: u8 = 12;
/// Logarithm of the largest logical cluster.
pub(crate) const CLUSTER_BITS_MOST: u8 = 14;
const LONG_BYTES: u64 = 8;
const SHORT_BYTES: u64 = 32;
const LONG_COUNT: u64 = 2;
const SHORT_COUNT: u64 = 16;
/// Bits of the address of a pack, in bytes.
const ADDRESS_BYTES: usize = 4;
/// Bits of the smallest offset or distance in a value.
const LOW_BITS_LEAST: u8 = 12;

/// The positions of the packs of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactIndex {
    start: u64,
    /// Number of values in the first long packs.
    before: u64,
    /// Number of values in short packs.
    short: u64,
    /// Bits of an offset or distance.
    low_bits: u8,
    /// Whether clusters may have more than one block.
    is_big: bool,
}

/// A pack and one of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackPlace {
    /// Offset of the pack.
    pub(crate) offset: u64,
    /// Bytes of the pack: 8 or 32.
    pub(crate) bytes: usize,
    /// Number of the value in the pack.
    pub(crate) number: usize,
}

impl PackPlace {
    /// Returns the offset of the first byte after the pack.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.bytes as u64
    }
}

/// The parameters of a compact index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompactParameters {
    /// Offset of the index.
    pub(crate) start: u64,
    /// Number of blocks of content, which is that of logical clusters in all known files.
    pub(crate) count: u64,
    pub(crate) cluster_bits: u8,
    pub(crate) has_short: bool,
    pub(crate) is_big: bool,
}

impl CompactIndex {
    /// `None` if the logical clusters are too large for this kind of index.
    pub(crate) fn new(parameters: CompactParameters) -> Option<CompactIndex> {
        let CompactParameters { start, count, cluster_bits, has_short, is_big } = parameters;
        let before = (SHORT_BYTES - start % SHORT_BYTES) / 4 % 8;
        let short = if has_short && before < count { (count - before) / SHORT_COUNT * SHORT_COUNT } else { 0 };
        if cluster_bits > CLUSTER_BITS_MOST || short > 0 && cluster_bits > SHORT_BITS_MOST {
            return None;
        }
        Some(CompactIndex { start, before, short, low_bits: cluster_bits.max(LOW_BITS_LEAST), is_big })
    }

    /// Returns the position of a logical cluster's value.
    pub(crate) fn place(&self, cluster: u64) -> PackPlace {
        let long = |start: u64, number: u64| PackPlace {
            offset: start + number / LONG_COUNT * LONG_BYTES,
            bytes: LONG_BYTES as usize,
            number: (number % LONG_COUNT) as usize,
        };
        let Some(after) = cluster.checked_sub(self.before) else { return long(self.start, cluster) };
        let start = self.start + self.before * 4;
        if let Some(after_short) = after.checked_sub(self.short) {
            return long(start + self.short * 2, after_short);
        }
        PackPlace {
            offset: start + after / SHORT_COUNT * SHORT_BYTES,
            bytes: SHORT_BYTES as usize,
            number: (after % SHORT_COUNT) as usize,
        }
    }

    /// Decodes value `number` of a pack. `None` if the number of blocks before it is unknown.
    pub(crate) fn decode(&self, pack: &[u8], number: usize) -> Option<Cluster> {
        let pack = Pack::new(pack, self.low_bits)?;
        let value = pack.value(number);
        let Some(head) = value.head else { return Some(Cluster::Inside(pack.inside(number, value))) };
        let blocks = if self.is_big { pack.big_blocks(number)? } else { pack.single_blocks(number) };
        let block = u64::from(pack.address.wrapping_add(blocks));
        Some(Cluster::Start(Start { head, offset: value.low.into(), block, is_partial: false }))
    }
}

/// A value of a pack.
#[derive(Debug, Clone, Copy)]
struct Value {
    head: Option<Head>,
    low: u16,
}

struct Pack<'p> {
    values: &'p [u8],
    /// Bits of a value.
    bits: usize,
    low_bits: u8,
    count: usize,
    address: u32,
}

impl Pack<'_> {
    fn new(pack: &[u8], low_bits: u8) -> Option<Pack<'_>> {
        let (values, address) = pack.split_last_chunk::<ADDRESS_BYTES>()?;
        let count = if pack.len() == LONG_BYTES as usize { LONG_COUNT } else { SHORT_COUNT } as usize;
        Some(Pack { values, bits: values.len() * 8 / count, low_bits, count, address: u32::from_le_bytes(*address) })
    }

    fn value(&self, number: usize) -> Value {
        let at = number * self.bits;
        let byte = |index: usize| u32::from(self.values.get(at / 8 + index).copied().unwrap_or(0));
        let bits = (byte(0) | byte(1) << 8 | byte(2) << 16) >> (at % 8);
        let low = bits & ((1 << self.low_bits) - 1);
        Value { head: Head::of_type((bits >> self.low_bits) as u8), low: low as u16 }
    }

    fn inside(&self, number: usize, value: Value) -> Inside {
        if number + 1 < self.count || value.low & HAS_BLOCKS != 0 {
            return Inside::of(value.low);
        }
        let before = self.value(number.saturating_sub(1));
        let back = if before.head.is_some() { 0 } else { Inside::of(before.low).back };
        Inside { back: back + 1, blocks: None }
    }

    /// Returns the number of starts up to value `number`, each of which has one block.
    fn single_blocks(&self, number: usize) -> u32 {
        let mut blocks = 1;
        let mut at = number;
        while at > 0 {
            at -= 1;
            let value = self.value(at);
            if value.head.is_none() {
                let Some(start) = at.checked_sub(value.low.into()) else { return blocks };
                at = start;
            }
            blocks += 1;
        }
        blocks
    }

    /// Returns the number of blocks of the clusters before value `number` in the pack, which may have several blocks. `None` if a distance does
    /// not lead to a number of blocks.
    fn big_blocks(&self, number: usize) -> Option<u32> {
        let mut blocks = 0;
        let mut at = number;
        while at > 0 {
            at -= 1;
            let value = self.value(at);
            if value.head.is_some() {
                blocks += 1;
            } else if value.low & HAS_BLOCKS != 0 {
                // The number of blocks includes the start before it.
                blocks += u32::from(value.low & !HAS_BLOCKS);
                at = at.saturating_sub(1);
            } else {
                // Continues with the number of blocks, which follows the start.
                let skipped = usize::from(value.low.checked_sub(2)?);
                let Some(next) = at.checked_sub(skipped) else { return Some(blocks) };
                at = next;
            }
        }
        Some(blocks)
    }
}

#[cfg(test)]
mod tests;
