//! Detects blocks whose symbols are distributed so evenly that no code saves anything.

use super::histogram::{self, Counts};

/// Minimum size in bytes for a decision by samples. Smaller blocks are cheap to count.
const LEAST: usize = 16 << 10;
/// Samples of 256 bytes with at least this many different symbols are examined further. Uniformly random bytes have 162 on average, with a
/// deviation of 5.
const KINDS: u16 = 145;
/// Maximum excess of the sum of squares of a sample's counts over the minimum, times 256, divided by the sample's bytes. Uniformly random
/// bytes have 255 on average, and seldom more than 100 above that. If a code saves a percent, the excess is more than 400.
const SPREAD: u64 = 352;

/// Whether samples show that `src` is flat. Returns false if they do not decide it, and for small blocks.
pub(in crate::huff0) fn has_flat_samples(src: &[u8]) -> bool {
    src.len() >= LEAST && has_many_kinds(src) && is_sample_flat(src)
}

/// Whether `size` symbols are flat by their counts: the sum of squares exceeds the minimum by at most a sixteenth.
pub(in crate::huff0) fn has_flat_counts(counts: &Counts, size: usize) -> bool {
    is_flat(counts, size, size as u64 / 16 + 256)
}

/// Takes pieces from all parts of `src`. They are copied first, so that cache misses overlap.
fn sample<const PIECE: usize, const PARTS: usize>(src: &[u8]) -> [[u8; PIECE]; PARTS] {
    let part = src.len() / PARTS;
    std::array::from_fn(|number| {
        // Irregular distances, so that periodic content is not missed.
        let at = number * part + ((((number * 0x9e37) & 0xffff) * part) >> 16);
        *src[at.min(src.len() - PIECE)..].first_chunk().unwrap_or(&[0; PIECE])
    })
}

fn has_many_kinds(src: &[u8]) -> bool {
    let mut seen = [0_u8; 256];
    sample::<8, 32>(src).as_flattened().iter().for_each(|symbol| seen[usize::from(*symbol)] = 1);
    seen.iter().map(|seen| u16::from(*seen)).sum::<u16>() >= KINDS
}

fn is_sample_flat(src: &[u8]) -> bool {
    let sample = sample::<64, 64>(src);
    let symbols = sample.as_flattened();
    is_flat(&histogram::count(symbols), symbols.len(), SPREAD)
}

/// Whether the sum of squares of `counts` exceeds that of `size` evenly distributed symbols by at most `spread`.
fn is_flat(counts: &Counts, size: usize, spread: u64) -> bool {
    // No symbol is frequent, but a part of the alphabet may be missing. The sum of squares shows how much of the alphabet occurs.
    let most = counts.iter().max().copied().unwrap_or(0) as usize;
    if most > (size >> 7) + 4 {
        return false;
    }
    let squares: u64 = counts.iter().map(|count| u64::from(*count) * u64::from(*count)).sum();
    let size = size as u64;
    squares * 256 <= size * (size + spread)
}
