//! One block: what to do with it, and its parts put together.

use super::encode::{self, Codes};
use super::kernel::Kernel;
use super::lengths::{Lengths, SYMBOLS};
use super::table::{Tables, USUAL_LOG};
use super::weights::{self, Weights};
use super::{HUFF0, Huff0Block, Huff0Streams, MAX_BLOCK, USED_BITS, decode, histogram};
use crate::CodecError;

/// Bytes below which four streams are not worth their jump table, nor can be told apart by it.
const LEAST_FOR_FOUR: usize = 12;

/// Compresses `src` into `room`.
pub(super) fn compress(
    kernel: Kernel,
    src: &[u8],
    room: &mut [u8],
    streams: Huff0Streams,
) -> Result<Huff0Block, CodecError> {
    if src.len() > MAX_BLOCK {
        return Err(CodecError::BlockTooLarge { found: src.len(), limit: MAX_BLOCK });
    }
    let Some(first) = src.first() else { return Ok(Huff0Block::NotCompressible) };
    let counts = histogram::count(src);
    if counts[usize::from(*first)] as usize == src.len() {
        return Ok(Huff0Block::SingleSymbol(*first));
    }
    if looks_flat(&counts, src.len()) {
        return Ok(Huff0Block::NotCompressible);
    }
    let size = coded(kernel, src, &counts, room, streams);
    Ok(size.map_or(Huff0Block::NotCompressible, Huff0Block::Compressed))
}

/// Whether symbols are so evenly spread that a code can not save more than its description takes.
fn looks_flat(counts: &[u32; SYMBOLS], size: usize) -> bool {
    let most = counts.iter().max().copied().unwrap_or(0) as usize;
    if most > (size >> 7) + 4 {
        return false;
    }
    // No symbol is frequent; but a part of the alphabet may be missing. The sum of squares tells how much of it is there.
    let squares: u64 = counts.iter().map(|count| u64::from(*count) * u64::from(*count)).sum();
    let size = size as u64;
    squares * SYMBOLS as u64 <= size * size + size * size / 16 + size * SYMBOLS as u64
}

/// `None` if the block is not smaller than `src`, or than `room`.
fn coded(kernel: Kernel, src: &[u8], counts: &[u32; SYMBOLS], room: &mut [u8], streams: Huff0Streams) -> Option<usize> {
    let lengths = Lengths::of(counts, USED_BITS);
    let mut description = [0; weights::MAX_SIZE];
    let head = weights::write(&lengths, &mut description)?;
    let least = head + (lengths.total(counts) / 8) as usize;
    if least >= src.len().min(room.len()) {
        return None;
    }
    room[..head].copy_from_slice(&description[..head]);
    let codes = Codes::new(&lengths);
    let size = head
        + match streams {
            Huff0Streams::One => encode::stream(kernel, src, &codes, &mut room[head..])?,
            Huff0Streams::Four => four(kernel, src, &codes, &mut room[head..])?,
        };
    Some(size).filter(|size| *size < src.len())
}

/// Four streams, of a quarter of the block each but for the last, behind the sizes of the first three.
fn four(kernel: Kernel, src: &[u8], codes: &Codes, room: &mut [u8]) -> Option<usize> {
    if src.len() < LEAST_FOR_FOUR {
        return None;
    }
    let mut size = decode::JUMP;
    for (stream, quarter) in src.chunks(src.len().div_ceil(4)).enumerate() {
        let added = encode::stream(kernel, quarter, codes, room.get_mut(size..)?)?;
        if stream < 3 {
            room[2 * stream..2 * stream + 2].copy_from_slice(&(added as u16).to_le_bytes());
        }
        size += added;
    }
    Some(size)
}

/// Decompresses `block` into all of `out`.
pub(super) fn decompress(
    kernel: Kernel,
    block: &[u8],
    out: &mut [u8],
    streams: Huff0Streams,
    tables: &mut Tables,
) -> Result<(), CodecError> {
    let size = block.len();
    let malformed = |reason| CodecError::Malformed { codec: HUFF0, size, reason };
    if out.len() > MAX_BLOCK {
        return Err(malformed("a block of more than 128 KiB"));
    }
    let (weights, head) = weights::read(block).map_err(malformed)?;
    tables.set(&weights);
    let done = match streams {
        Huff0Streams::One => decode::one(block, head, out, tables),
        Huff0Streams::Four => {
            let multiple = worth_joining(&weights, out.len());
            if multiple {
                tables.set_multiple();
            }
            decode::four(kernel, (block, head), out, tables, multiple)
        }
    };
    done.map_err(malformed)
}

/// Whether symbols should be decoded up to three at a time. That needs a table of its own, and a step takes a little longer.
fn worth_joining(weights: &Weights, size: usize) -> bool {
    // How often a second symbol fits behind the first, in 2^-24; a symbol of n bits comes once in 2^n.
    let share = |weight: usize| u64::from(weights.symbols[weight]) << (weight - 1);
    let log = weights.longest as usize;
    let room = log.max(USUAL_LOG as usize);
    let mut both = 0;
    for first in 1..=log {
        for second in 1..=log {
            if 2 * (log + 1) <= room + first + second {
                both += share(first) * share(second);
            }
        }
    }
    size >= 4096 && both << (24 - 2 * log) > 1 << 22
}
