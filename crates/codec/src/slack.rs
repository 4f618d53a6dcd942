//! slack: trailing zeros of a record are not stored. The stored view is a prefix of the record.

pub(crate) const NAME: &str = "slack";

pub(crate) const HELP: &str = "\
slack: trailing zeros of a record are not stored; no parameters
  slack+CODEC        CODEC compresses the rest, such as slack+lz4 or slack+zstd:level=3
";

/// Bytes examined at a time: eight of the widest vectors.
const STRIDE: usize = 256;
/// Bytes of a window, which is examined from its start once [`MANY`] zeros were found.
const WINDOW: usize = 1 << 20;
/// Number of trailing zeros from which on more are likely.
const MANY: usize = 64 << 10;

/// Returns the record without its trailing zeros: empty if all bytes are zeros, the complete record if its last byte is not zero. Nothing
/// is copied, and only the trailing zeros and one byte before them are read.
pub(crate) fn trim(record: &[u8]) -> &[u8] {
    &record[..length(record)]
}

/// Length of the result of [`trim`].
fn length(record: &[u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return avx2::length(record);
    }
    length_with(record)
}

/// [`super::length_with`], compiled for vectors of 32 bytes.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)] // calls a function that requires AVX2
mod avx2 {
    /// As [`super::length_with`]. Requires AVX2.
    pub(super) fn length(record: &[u8]) -> usize {
        #[target_feature(enable = "avx2")]
        fn with_avx2(record: &[u8]) -> usize {
            super::length_with(record)
        }
        // SAFETY: the caller checked that the processor has AVX2.
        unsafe { with_avx2(record) }
    }
}

/// Counts zeros from the end in strides. Many zeros are usually followed by many more. After [`MANY`] zeros, windows are read from their
/// start, because hardware prefetching works better in that direction.
#[inline(always)] // inlined into functions for other processors
fn length_with(record: &[u8]) -> usize {
    let mut rest = backwards(record, MANY);
    if record.len() - rest.len() == MANY {
        rest = backwards(windows(rest), usize::MAX);
    }
    rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

/// Returns the part before trailing strides of zeros. At most `limit` bytes of zeros are removed.
#[inline(always)]
fn backwards(record: &[u8], limit: usize) -> &[u8] {
    let mut rest = record;
    while let Some((before, stride)) = rest.split_last_chunk::<STRIDE>() {
        if record.len() - rest.len() == limit || !is_zero(stride) {
            break;
        }
        rest = before;
    }
    rest
}

/// Returns the part before trailing windows of zeros.
#[inline(always)]
fn windows(record: &[u8]) -> &[u8] {
    let mut rest = record;
    while let Some((before, window)) = rest.split_last_chunk::<WINDOW>() {
        if !window.as_chunks::<STRIDE>().0.iter().all(is_zero) {
            break;
        }
        rest = before;
    }
    rest
}

/// Whether all bytes are zeros. The loop has no branches, so that the compiler vectorises it.
#[inline(always)]
fn is_zero(stride: &[u8; STRIDE]) -> bool {
    let (words, _) = stride.as_chunks::<8>();
    words.iter().fold(0, |all, &word| all | u64::from_ne_bytes(word)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    type Search = fn(&[u8]) -> usize;

    /// All search variants that this processor supports.
    fn searches() -> Vec<Search> {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut all: Vec<Search> = vec![length, length_with];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            all.push(avx2::length);
        }
        all
    }

    #[test]
    fn trims_every_length_at_every_alignment() {
        let mut memory = vec![0xFF; 3 * STRIDE + 64];
        for start in 0..33 {
            for size in (0..2 * STRIDE + 40).step_by(1 + start % 3) {
                memory[start..start + size].fill(0);
                check(&mut memory, start, size);
                memory[start..start + size].fill(0xFF);
            }
        }
    }

    /// Checks a record of zeros between other bytes, with and without one nonzero byte.
    fn check(memory: &mut [u8], start: usize, size: usize) {
        for search in searches() {
            assert_eq!(search(&memory[start..start + size]), 0);
        }
        for kept in (1..=size).rev().step_by(1 + size / 5) {
            memory[start + kept - 1] = 0x80;
            for search in searches() {
                assert_eq!(search(&memory[start..start + size]), kept, "{size} bytes at {start}");
            }
            memory[start + kept - 1] = 0;
        }
    }

    #[test]
    fn trims_many_zeros_of_every_length_class() {
        let mut memory = vec![0; 3 * WINDOW + MANY + 2 * STRIDE];
        let sizes = [0, 1, STRIDE, MANY - 1, MANY, MANY + 1, MANY + STRIDE, MANY + WINDOW, MANY + 2 * WINDOW + 7];
        for zeros in sizes.into_iter().flat_map(|size| [size, size + 3]) {
            let kept = memory.len() - zeros;
            memory[kept - 1] = 1;
            // Bytes before the kept part make no difference, wherever they are in a window.
            for other in [0, kept / 2, kept.saturating_sub(WINDOW)] {
                memory[other] = 1;
            }
            for search in searches() {
                assert_eq!(search(&memory), kept, "{zeros} zeros");
            }
            memory.fill(0);
        }
        for search in searches() {
            assert_eq!(search(&memory), 0);
        }
    }

    #[test]
    fn view_borrows_the_record() {
        let record = [vec![1; 1000], vec![0; 5000]].concat();
        let view = trim(&record);
        assert_eq!((view.as_ptr(), view.len()), (record.as_ptr(), 1000));
        assert_eq!(trim(view), view);
        assert_eq!(trim(&record[1000..]), b"");
        assert_eq!(trim(b""), b"");
        assert_eq!(trim(b"\0\0x"), b"\0\0x");
    }
}
