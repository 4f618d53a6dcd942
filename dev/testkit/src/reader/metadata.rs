//! Metadata: a sequence of blocks of at most 8 KiB, each with a 2-byte header.

use super::disk::{Disk, METADATA_BLOCK as BLOCK};
use std::collections::BTreeMap;

const STORED: u16 = 0x8000;

/// A decoded table of metadata blocks.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The content of all blocks.
    pub bytes: Vec<u8>,
    /// Offset in `bytes` by a block's offset from the table's start in the image.
    starts: BTreeMap<u64, usize>,
}

impl Table {
    /// Decodes the blocks that fill `range` of the image exactly. Violated rules go to `problems`.
    pub fn read(disk: &mut Disk, range: std::ops::Range<u64>, what: &str) -> Result<Table, String> {
        let mut table = Table::default();
        let mut at = range.start;
        let mut short = None;
        while at < range.end {
            let (bytes, next) = read_block(disk, at, what)?;
            if let Some(earlier) = short {
                disk.problems.push(format!("{what}: the block at {earlier} is short and not the last"));
            }
            short = (bytes.len() < BLOCK).then_some(at);
            table.starts.insert(at - range.start, table.bytes.len());
            table.bytes.extend_from_slice(&bytes);
            at = next;
        }
        if at != range.end {
            return Err(format!("{what}: its last block ends at {at} (expected {})", range.end));
        }
        Ok(table)
    }

    /// The offset in `bytes` of a reference: a block's offset in the image from the table's start, and an offset in it.
    pub fn locate(&self, block: u64, offset: usize) -> Result<usize, String> {
        let start = self.starts.get(&block).ok_or_else(|| format!("no metadata block starts at {block}"))?;
        let place = start + offset;
        if offset >= BLOCK || place > self.bytes.len() {
            return Err(format!("offset {offset} in the metadata block at {block} is past its end"));
        }
        Ok(place)
    }

    /// The same for a packed reference: the block's offset above 16 bits of offset in it.
    pub fn locate_reference(&self, reference: u64) -> Result<usize, String> {
        self.locate(reference >> 16, (reference & 0xffff) as usize)
    }
}

/// One block: its bytes, and the start of the next one.
pub(super) fn read_block(disk: &mut Disk, at: u64, what: &str) -> Result<(Vec<u8>, u64), String> {
    let header = disk.bytes(at, 2, what)?;
    let word = u16::from_le_bytes([header[0], header[1]]);
    let length = u64::from(word & !STORED);
    if length == 0 || length > BLOCK as u64 {
        return Err(format!("{what}: the block at {at} has a length of {length} (expected 1 to {BLOCK})"));
    }
    let raw = disk.bytes(at + 2, length, what)?;
    let bytes = if word & STORED != 0 { raw } else { unpack(disk, &raw, at, what)? };
    Ok((bytes, at + 2 + length))
}

fn unpack(disk: &mut Disk, raw: &[u8], at: u64, what: &str) -> Result<Vec<u8>, String> {
    let bytes = disk.decode(raw, BLOCK).map_err(|cause| format!("{what}: the block at {at}: {cause}"))?;
    if bytes.len() <= raw.len() {
        let grown = format!("{what}: the block at {at} is {} bytes packed into {}", bytes.len(), raw.len());
        disk.problems.push(grown);
    }
    Ok(bytes)
}
