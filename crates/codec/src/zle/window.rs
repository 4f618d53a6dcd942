//! Bit masks of the zeros in the next bytes.

use super::N;

/// Bit i is set where byte i is zero.
pub(super) fn zeros(window: &[u8; N]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    return sse2::zeros(window);
    #[cfg(not(target_arch = "x86_64"))]
    portable(window)
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::N;
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_setzero_si128};

    /// As [`super::zeros`], a quarter at a time.
    #[inline]
    pub(super) fn zeros(window: &[u8; N]) -> u64 {
        let (quarters, _) = window.as_chunks::<16>();
        let bits = |quarter: &[u8; 16]| {
            // SAFETY: every x86-64 processor has SSE2. The load reads the 16 borrowed bytes, at any alignment.
            let mask = unsafe {
                let bytes = _mm_loadu_si128(quarter.as_ptr().cast());
                _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()))
            };
            u64::from(mask as u16)
        };
        bits(&quarters[0]) | bits(&quarters[1]) << 16 | bits(&quarters[2]) << 32 | bits(&quarters[3]) << 48
    }
}

/// As [`zeros`], eight bytes at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) fn portable(window: &[u8; N]) -> u64 {
    let (words, _) = window.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, &word| bits << 8 | zeros_of_word(u64::from_le_bytes(word)))
}

/// Bit i of the lowest 8 is set where byte i of the word is zero.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn zeros_of_word(word: u64) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);
    // The highest bit of each byte is set where any of its bits is. No sum carries into the next byte.
    let some = ((word & LOW) + LOW) | word;
    let zero = (!(some | LOW)) >> 7;
    // Moves bit 0 of byte i to bit 56 + i. All other bits move elsewhere.
    zero.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_and_simd_masks_are_equal() {
        let mut state = 1u64;
        for _ in 0..2000 {
            let mut expected = 0;
            let window: [u8; N] = std::array::from_fn(|at| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(at as u64 + 1);
                let byte = [0, 0, 1, 0x80, 0x7F, 0xFF, (state >> 40) as u8, 2][(state >> 61) as usize];
                expected |= u64::from(byte == 0) << at;
                byte
            });
            assert_eq!((zeros(&window), portable(&window)), (expected, expected), "{window:?}");
        }
    }
}
