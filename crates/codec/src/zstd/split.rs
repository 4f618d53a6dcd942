//! Divides 128 KiB into blocks as the library does on little-endian processors. The library counts hashes of pairs of bytes, and it loads a
//! pair in the order of the machine's bytes.
//!
//! On big-endian processors this function replaces the library's. The library's is the only one in its object file, so the linker leaves
//! that file out where the function is already defined.

/// Events are counted in parts of this number of bytes.
const PART: usize = 8 << 10;
/// Bytes that are compared at the borders and in the middle.
const BORDER: usize = 512;
/// The bits of the largest table.
const MOST_BITS: u32 = 10;
/// The bits of a table of single bytes.
const BYTE_BITS: u32 = 8;
/// The factor of hashes.
const FACTOR: u32 = 0x9e37_79b9;
/// Parts of the product of both totals in which a distance is measured.
const UNITS: u64 = 16;
/// Statistics differ from this distance on.
const DIFFERENT: u64 = UNITS - 2;
/// The number that is added to [`DIFFERENT`] at the first comparison. It is 1 less at each following one.
const FIRST_PENALTY: u64 = 3;

/// Replaces the library's function. `level` is 0 to 4; the workspace is not used. Unit tests link a build without `test` too, which has it.
///
/// # Safety
/// `block` points to `size` bytes.
#[cfg(all(target_endian = "big", not(test)))]
#[unsafe(no_mangle)]
unsafe extern "C" fn ZSTD_splitBlock(
    block: *const std::ffi::c_void,
    size: usize,
    level: std::ffi::c_int,
    _workspace: *mut std::ffi::c_void,
    _workspace_size: usize,
) -> usize {
    // SAFETY: the caller says so.
    let block = unsafe { std::slice::from_raw_parts(block.cast::<u8>(), size) };
    split(block, level)
}

/// Returns the size of the first block. `block` has 128 KiB.
fn split(block: &[u8], level: i32) -> usize {
    match level {
        ..=0 => split_by_borders(block),
        1 => split_by_parts(block, 43, BYTE_BITS),
        2 => split_by_parts(block, 11, 9),
        3 => split_by_parts(block, 5, MOST_BITS),
        _ => split_by_parts(block, 1, MOST_BITS),
    }
}

/// Compares each part with those before it.
fn split_by_parts(block: &[u8], step: usize, bits: u32) -> usize {
    let mut penalty = FIRST_PENALTY;
    let mut before = Statistics::default();
    for (index, part) in block.chunks(PART).enumerate() {
        let here = Statistics::of_pairs(part, step, bits);
        if index > 0 {
            if before.differs(&here, penalty) {
                return index * PART;
            }
            penalty = penalty.saturating_sub(1);
        }
        before.add(&here);
    }
    block.len()
}

/// Compares the first bytes with the last ones, and both with those in the middle.
fn split_by_borders(block: &[u8]) -> usize {
    let half = block.len() / 2;
    let [first, last, middle] = [0, block.len() - BORDER, half - BORDER / 2]
        .map(|at| Statistics::of_pairs(&[&block[at..at + BORDER], &[0]].concat(), 1, BYTE_BITS));
    if !first.differs(&last, 0) {
        return block.len();
    }
    let to_first = first.distance(&middle);
    let to_last = last.distance(&middle);
    if to_first.abs_diff(to_last) < (BORDER * BORDER / 3) as u64 {
        half
    } else if to_first > to_last {
        half / 2
    } else {
        half + half / 2
    }
}

/// How often each hash occurs.
struct Statistics {
    counts: [u32; 1 << MOST_BITS],
    total: u64,
}

impl Default for Statistics {
    fn default() -> Statistics {
        Statistics { counts: [0; 1 << MOST_BITS], total: 0 }
    }
}

impl Statistics {
    /// Counts the pairs at each `step`th byte. With the bits of a byte, only the first bytes count.
    fn of_pairs(bytes: &[u8], step: usize, bits: u32) -> Statistics {
        let mut found = Statistics { total: ((bytes.len() - 1) / step) as u64, ..Statistics::default() };
        for pair in bytes.windows(2).step_by(step) {
            let both = u32::from(pair[0]) | u32::from(pair[1]) << 8;
            let hash =
                if bits == BYTE_BITS { u32::from(pair[0]) } else { both.wrapping_mul(FACTOR) >> (u32::BITS - bits) };
            found.counts[hash as usize] += 1;
        }
        found
    }

    fn add(&mut self, other: &Statistics) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.total += other.total;
    }

    fn distance(&self, other: &Statistics) -> u64 {
        let counts = self.counts.iter().zip(&other.counts);
        counts.map(|(here, there)| (u64::from(*here) * other.total).abs_diff(u64::from(*there) * self.total)).sum()
    }

    fn differs(&self, other: &Statistics, penalty: u64) -> bool {
        self.distance(other) >= self.total * other.total * (DIFFERENT + penalty) / UNITS
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};

    use packline_testkit::Random;
    use proptest::prelude::*;

    use super::*;

    unsafe extern "C" {
        fn ZSTD_splitBlock(
            block: *const c_void,
            size: usize,
            level: c_int,
            workspace: *mut c_void,
            workspace_size: usize,
        ) -> usize;
    }

    const SIZE: usize = 128 << 10;

    fn library(block: &[u8], level: i32) -> usize {
        let mut workspace = vec![0u64; 1100];
        let size = size_of_val(&*workspace);
        // SAFETY: the block has 128 KiB, and the workspace has more than the 8208 bytes that the function needs, aligned to 8.
        unsafe { ZSTD_splitBlock(block.as_ptr().cast(), block.len(), level, workspace.as_mut_ptr().cast(), size) }
    }

    /// Text, noise and letters in parts of any size, so that the library divides at most of its borders.
    fn block(seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        let longest = 1 << (9 + random.below(9));
        let mut bytes = Vec::new();
        while bytes.len() < SIZE {
            let size = 1 + random.below(longest) as usize;
            let kinds = 1 + random.below(256);
            let first = random.below(200);
            match random.below(3) {
                0 => bytes.extend(random.noise(size)),
                1 => bytes.extend(random.prose(size)),
                _ => bytes.extend((0..size).map(|_| (first + random.below(kinds)) as u8)),
            }
        }
        bytes.truncate(SIZE);
        bytes
    }

    #[test]
    fn blocks_are_divided_everywhere() {
        let mut found = vec![[0; 17]; 5];
        for seed in 0..300 {
            let block = block(seed);
            for (level, counts) in found.iter_mut().enumerate() {
                let size = split(&block, level as i32);
                assert_eq!(size, library(&block, level as i32), "seed {seed}, level {level}");
                counts[size / PART] += 1;
            }
        }
        assert!(found[0][4] > 0 && found[0][8] > 0 && found[0][12] > 0 && found[0][16] > 0, "{found:?}");
        assert!(found[1..].iter().all(|counts| counts.iter().filter(|count| **count > 0).count() > 4), "{found:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn sizes_equal_those_of_the_library(seed: u64) {
            let block = block(seed);
            for level in 0..=4 {
                prop_assert_eq!(split(&block, level), library(&block, level));
            }
        }
    }
}
