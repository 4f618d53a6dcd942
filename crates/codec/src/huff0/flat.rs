//! Whether a block's symbols are so evenly spread that a code is not worth looking for.

use super::histogram::{self, Counts};

/// Bytes of the smallest block that is judged by samples of it: there is little to save in smaller ones.
const LEAST: usize = 16 << 10;
/// Kinds of symbols among 256 of which any are looked at further. There are 162 on average, with a deviation of 5, where all symbols
/// are as likely as each other.
const KINDS: u16 = 145;
/// How far the sum of squares of the counts of a sample may be above the least, 256 times, in its bytes. It is 255 on average where
/// all symbols are as likely as each other, and seldom more than 100 above. A code that saves a percent comes from more than 400.
const SPREAD: u64 = 352;

/// Whether samples of `src` tell that it is flat. `false` where they do not, and for small blocks.
pub(super) fn is_said_by_samples(src: &[u8]) -> bool {
    src.len() >= LEAST && has_many_kinds(src) && is_sample_flat(src)
}

/// Whether `size` symbols are flat, by their counts: their sum of squares is not above the least by more than a sixteenth.
pub(super) fn is_said_by(counts: &Counts, size: usize) -> bool {
    is_flat(counts, size, size as u64 / 16 + 256)
}

/// Pieces of `src`, from everywhere in it. They are copied before they are looked at, so that what is not in the cache is waited
/// for but once.
fn sample<const PIECE: usize, const PARTS: usize>(src: &[u8]) -> [[u8; PIECE]; PARTS] {
    let part = src.len() / PARTS;
    std::array::from_fn(|number| {
        // Not at equal distances, as what they might miss may be.
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

/// Whether the sum of squares of `counts` is not above that of `size` symbols spread evenly by more than `spread`.
fn is_flat(counts: &Counts, size: usize, spread: u64) -> bool {
    // No symbol is frequent; but a part of the alphabet may be missing. The sum of squares tells how much of it is there.
    let most = counts.iter().max().copied().unwrap_or(0) as usize;
    if most > (size >> 7) + 4 {
        return false;
    }
    let squares: u64 = counts.iter().map(|count| u64::from(*count) * u64::from(*count)).sum();
    let size = size as u64;
    squares * 256 <= size * (size + spread)
}
