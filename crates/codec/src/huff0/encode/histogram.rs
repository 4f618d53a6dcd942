//! Counts of byte values.

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
