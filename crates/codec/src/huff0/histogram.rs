//! How often each byte occurs.

/// Tables counted in turn, so that a byte that repeats does not wait for its own count.
const TABLES: usize = 8;

/// Occurrences of each byte of `src`, which is shorter than 4 GiB.
pub(super) fn count(src: &[u8]) -> [u32; 256] {
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
