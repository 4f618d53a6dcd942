//! Counts of byte values. They detect blocks whose symbols are distributed so evenly that no code saves anything.

/// Number of tables used in turn, so that a repeated byte does not wait for its own counter.
const TABLES: usize = 8;

pub(in crate::huff0) type Counts = [u32; 256];

/// Occurrences of each byte of `src`, which is shorter than 4 GiB.
pub(in crate::huff0) fn count(src: &[u8]) -> Counts {
    let mut tables = [[0_u32; 256]; TABLES];
    let (words, rest) = src.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        for place in 0..8 {
            tables[place % TABLES][usize::from((word >> (8 * place)) as u8)] += 1;
        }
    }
    for byte in rest {
        tables[0][usize::from(*byte)] += 1;
    }
    let mut sums = [0; 256];
    for table in &tables {
        sums.iter_mut().zip(table).for_each(|(sum, count)| *sum += count);
    }
    sums
}

/// Occurrences of each of `values`, which are less than 32. There are at most 65,535 values.
pub(in crate::huff0) fn count_small(values: &[u8]) -> [u16; 32] {
    let mut tables = [[0_u16; 32]; 4];
    let (groups, rest) = values.as_chunks::<4>();
    for group in groups {
        group.iter().zip(&mut tables).for_each(|(value, table)| table[usize::from(value & 31)] += 1);
    }
    rest.iter().for_each(|value| tables[0][usize::from(value & 31)] += 1);
    std::array::from_fn(|value| tables.iter().map(|table| table[value]).sum())
}

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
    is_flat(&count(symbols), symbols.len(), SPREAD)
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
