//! Blocks of data: each file's content assembled and hashed, and the use of the data area.

use super::disk::Disk;
use super::inodes::{FileBody, NONE};
use super::tables::Fragment;
use std::collections::BTreeMap;
use std::ops::Range;

/// Set in the size word of a stored block.
const STORED: u32 = 1 << 24;

/// Data blocks and tail ends found while files are read.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Size words by block start.
    blocks: BTreeMap<u64, u32>,
    /// Ranges of tail ends by fragment.
    tails: BTreeMap<u32, Vec<Range<u32>>>,
}

/// Cache of the last decoded fragment block: neighbours share it.
#[derive(Debug, Default)]
pub(super) struct Tails {
    kept: Option<(u32, Vec<u8>)>,
}

/// Reads a file's content, hashes it, and records its blocks.
pub(super) fn hash_file(
    disk: &mut Disk,
    file: &FileBody,
    fragments: &[Fragment],
    tails: &mut Tails,
    usage: &mut Usage,
) -> Result<[u8; 32], String> {
    let mut hasher = blake3::Hasher::new();
    let zeros = vec![0; disk.block_size];
    let mut at = file.start;
    let mut left = file.size;
    for &word in &file.sizes {
        let length = left.min(disk.block_size as u64) as usize;
        if word == 0 {
            hasher.update(&zeros[..length]);
        } else {
            hasher.update(&block(disk, at, word, Some(length))?);
            usage.note(disk, at, word);
        }
        at += u64::from(word & !STORED);
        left -= length as u64;
    }
    if file.fragment != NONE {
        hasher.update(tail(disk, file, left as u32, fragments, tails, usage)?);
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Decodes a block; `length` is its required length, or `None` for a fragment block.
fn block(disk: &mut Disk, at: u64, word: u32, length: Option<usize>) -> Result<Vec<u8>, String> {
    let stored = u64::from(word & !STORED);
    if word > STORED | disk.block_size as u32 || stored > disk.block_size as u64 {
        return Err(format!("the block at {at} has the size word {word:#x}"));
    }
    let raw = disk.bytes(at, stored, "data block")?;
    let bytes = if word & STORED != 0 { raw } else { unpack(disk, &raw, at)? };
    match length {
        Some(length) if bytes.len() != length => {
            Err(format!("the block at {at} has {} bytes (expected {length})", bytes.len()))
        }
        _ => Ok(bytes),
    }
}

fn unpack(disk: &mut Disk, raw: &[u8], at: u64) -> Result<Vec<u8>, String> {
    let bytes = disk.decode(raw, disk.block_size).map_err(|cause| format!("the block at {at}: {cause}"))?;
    if bytes.len() <= raw.len() {
        disk.problems.push(format!("the block at {at} is {} bytes packed into {}", bytes.len(), raw.len()));
    }
    Ok(bytes)
}

fn tail<'a>(
    disk: &mut Disk,
    file: &FileBody,
    length: u32,
    fragments: &[Fragment],
    tails: &'a mut Tails,
    usage: &mut Usage,
) -> Result<&'a [u8], String> {
    let index = file.fragment;
    let fragment = fragments.get(index as usize).ok_or_else(|| format!("fragment {index} of {}", fragments.len()))?;
    if tails.kept.as_ref().is_none_or(|(kept, _)| *kept != index) {
        tails.kept = Some((index, block(disk, fragment.start, fragment.size_word, None)?));
    }
    let bytes = tails.kept.as_ref().map_or(&[][..], |(_, bytes)| bytes.as_slice());
    let range = file.offset..file.offset.saturating_add(length);
    let found = bytes.get(range.start as usize..range.end as usize);
    usage.tails.entry(index).or_default().push(range.clone());
    found.ok_or_else(|| format!("tail {range:?} of fragment {index}, which has {} bytes", bytes.len()))
}

impl Usage {
    fn note(&mut self, disk: &mut Disk, at: u64, word: u32) {
        if let Some(before) = self.blocks.insert(at, word).filter(|before| *before != word) {
            disk.problems.push(format!("blocks with the size words {word:#x} and {before:#x} at {at}"));
        }
    }

    /// Checks that blocks and fragment blocks are contiguous, within `area`, and that only equal ones overlap. Returns the unused bytes of
    /// the area and of fragment blocks.
    pub fn check(mut self, disk: &mut Disk, fragments: &[Fragment], area: Range<u64>) -> Result<u64, String> {
        let mut unused = 0;
        for (index, fragment) in fragments.iter().enumerate() {
            self.note(disk, fragment.start, fragment.size_word);
            let length = block(disk, fragment.start, fragment.size_word, None)?.len();
            unused += self.unused_by_tails(index as u32, length as u32);
        }
        let mut end = area.start;
        for (&start, &word) in &self.blocks {
            if start < end {
                disk.problems.push(format!("the block at {start} starts before {end}, where another ends"));
            }
            unused += start.saturating_sub(end);
            end = start + u64::from(word & !STORED);
        }
        if end > area.end {
            disk.problems.push(format!("the last block ends at {end}, the data area at {}", area.end));
        }
        Ok(unused + area.end.saturating_sub(end))
    }

    /// Bytes of a fragment block that no tail end uses: an earlier file of the same path may have left them.
    fn unused_by_tails(&mut self, index: u32, length: u32) -> u64 {
        let mut ranges = self.tails.remove(&index).unwrap_or_default();
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut unused = 0;
        let mut end = 0;
        for range in ranges {
            unused += u64::from(range.start.saturating_sub(end));
            end = end.max(range.end);
        }
        unused + u64::from(length.saturating_sub(end))
    }
}
