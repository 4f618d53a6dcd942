//! One block: chooses its kind and joins its parts.

use super::decode::table::{Tables, USUAL_LOG};
use super::decode::{self, fast};
use super::encode::histogram::{self, Counts};
use super::encode::lengths::Lengths;
use super::encode::{self, Codes};
use super::weights::{self, Weights};
use super::{Huff0Block, Huff0Streams, MAX_BLOCK, NAME, USED_BITS};
use crate::CodecError;
use crate::processor::Kernel;

/// Minimum size for four streams. For smaller blocks the jump table costs more than it saves, and cannot be recognised.
const MIN_FOR_FOUR: usize = 12;

pub(super) fn compress(
    kernel: Kernel,
    src: &[u8],
    out: &mut [u8],
    streams: Huff0Streams,
) -> Result<Huff0Block, CodecError> {
    if src.len() > MAX_BLOCK {
        return Err(CodecError::BlockTooLarge { found: src.len(), limit: MAX_BLOCK });
    }
    let Some(first) = src.first() else { return Ok(Huff0Block::NotCompressible) };
    if histogram::has_flat_samples(src) {
        return Ok(Huff0Block::NotCompressible);
    }
    let counts = histogram::count(src);
    if counts[usize::from(*first)] as usize == src.len() {
        return Ok(Huff0Block::SingleSymbol(*first));
    }
    if histogram::has_flat_counts(&counts, src.len()) {
        return Ok(Huff0Block::NotCompressible);
    }
    let size = encode_block(kernel, src, &counts, USED_BITS, out, streams);
    Ok(size.map_or(Huff0Block::NotCompressible, Huff0Block::Compressed))
}

/// Encodes with codes of up to `limit` bits. `None` if the block is not smaller than `src`, or than `out`.
pub(super) fn encode_block(
    kernel: Kernel,
    src: &[u8],
    counts: &Counts,
    limit: u32,
    out: &mut [u8],
    streams: Huff0Streams,
) -> Option<usize> {
    let lengths = Lengths::of(counts, limit);
    let mut description = [0; weights::MAX_SIZE];
    let head = weights::write(&lengths, &mut description)?;
    let bits = lengths.total(counts);
    let least = head + (bits / 8) as usize;
    if least >= src.len().min(out.len()) {
        return None;
    }
    out[..head].copy_from_slice(&description[..head]);
    let codes = Codes::new(&lengths, src.len(), bits);
    let size = head
        + match streams {
            Huff0Streams::One => encode::stream(kernel, src, &codes, &mut out[head..])?,
            Huff0Streams::Four => four(kernel, src, &codes, &mut out[head..])?,
        };
    Some(size).filter(|size| *size < src.len())
}

/// Writes the sizes of the first three streams, then four streams, each with a quarter of the block (the last with the rest).
fn four(kernel: Kernel, src: &[u8], codes: &Codes, out: &mut [u8]) -> Option<usize> {
    if src.len() < MIN_FOR_FOUR {
        return None;
    }
    let mut size = decode::JUMP;
    for (stream, quarter) in src.chunks(src.len().div_ceil(4)).enumerate() {
        let added = encode::stream(kernel, quarter, codes, out.get_mut(size..)?)?;
        if stream < 3 {
            out[2 * stream..2 * stream + 2].copy_from_slice(&(added as u16).to_le_bytes());
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
    let malformed = |reason| CodecError::Malformed { codec: NAME, size, reason };
    if out.len() > MAX_BLOCK {
        return Err(malformed("a block of more than 128 KiB"));
    }
    let (weights, head) = weights::read(block).map_err(malformed)?;
    tables.set(&weights);
    let multiple = worth_joining(&weights, out.len());
    if multiple {
        fast::set_multiple(kernel, tables, &weights);
    }
    let done = match streams {
        Huff0Streams::One => decode::one(kernel, block, head, out, tables, multiple),
        Huff0Streams::Four => decode::four(kernel, block, head, out, tables, multiple),
    };
    done.map_err(malformed)
}

/// Whether decoding up to three symbols at a time pays for building the second table and for slightly slower steps.
fn worth_joining(weights: &Weights, size: usize) -> bool {
    // How often a second symbol fits after the first, in 2^-24. A symbol of n bits has probability 2^-n.
    let log = weights.longest as usize;
    let share = |weight: usize| u64::from(weights.symbols[weight]) << (weight - 1);
    // The minimum sum of weights of two codes that fit together. The shorter the first code is, the longer the second may be.
    let least = (2 * (log + 1)).saturating_sub(log.max(USUAL_LOG as usize)).max(1);
    let mut frequent: u64 = (least..=log).map(share).sum();
    let mut both = 0;
    for first in 1..=log {
        let second = least.saturating_sub(first);
        if (1..=log).contains(&second) {
            frequent += share(second);
        }
        both += share(first) * frequent;
    }
    size >= 4096 && both << (24 - 2 * log) > 1 << 22
}
