//! Four numbers processed together, each less than 2^31 - 2^23.

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::U32x4;
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::U32x4;

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128, __m128i, _mm_add_epi32, _mm_and_si128, _mm_castps_si128, _mm_castsi128_ps, _mm_cmpgt_epi32,
        _mm_cvtsi64_si128, _mm_max_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_set_epi32, _mm_set1_epi16, _mm_set1_epi32,
        _mm_setzero_ps, _mm_setzero_si128, _mm_slli_epi32, _mm_sub_epi16, _mm_sub_epi32, _mm_unpackhi_ps,
        _mm_unpacklo_epi16, _mm_unpacklo_ps,
    };

    #[derive(Debug, Clone, Copy)]
    pub(in crate::lzo) struct U32x4(__m128i);

    impl U32x4 {
        #[inline(always)]
        pub fn new([one, two, three, four]: [u32; 4]) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { U32x4(_mm_set_epi32(four as i32, three as i32, two as i32, one as i32)) }
        }

        /// Four equal numbers.
        #[inline(always)]
        pub fn all(number: u32) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { U32x4(_mm_set1_epi32(number as i32)) }
        }

        /// Returns the number that must be added to each of the four 16-bit numbers in `words` to give `low`, modulo 2^16.
        #[inline(always)]
        pub fn short_of(low: u16, words: u64) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe {
                let differences = _mm_sub_epi16(_mm_set1_epi16(low as i16), _mm_cvtsi64_si128(words as i64));
                U32x4(_mm_unpacklo_epi16(differences, _mm_setzero_si128()))
            }
        }

        #[inline(always)]
        pub fn each(self) -> [u32; 4] {
            // SAFETY: both types have 16 bytes, and any bytes are allowed.
            unsafe { std::mem::transmute(self.0) }
        }

        #[inline(always)]
        pub fn plus(self, other: U32x4) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { U32x4(_mm_add_epi32(self.0, other.0)) }
        }

        /// Differences; negative results compare as less than every number.
        #[inline(always)]
        pub fn minus(self, other: U32x4) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { U32x4(_mm_sub_epi32(self.0, other.0)) }
        }

        /// Multiplies by 2^16.
        #[inline(always)]
        pub fn high(self) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { U32x4(_mm_slli_epi32(self.0, 16)) }
        }

        /// The numbers where `one` is more than `other`; 0 elsewhere.
        #[inline(always)]
        pub fn where_more(self, one: U32x4, other: U32x4) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { U32x4(_mm_and_si128(self.0, _mm_cmpgt_epi32(one.0, other.0))) }
        }

        /// The maximum of each pair. Floating-point numbers have the same order, and SSE2 has an instruction for their maximum.
        #[inline(always)]
        pub fn max(self, other: U32x4) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { U32x4(_mm_castps_si128(_mm_max_ps(self.floats(), other.floats()))) }
        }

        /// The maximum of each triple and 0.
        #[inline(always)]
        pub fn max_of_three(of: [U32x4; 3]) -> U32x4 {
            // SAFETY: every x86_64 has SSE2.
            unsafe {
                let [one, two, three] = of.map(U32x4::floats);
                let pair = _mm_max_ps(_mm_unpacklo_ps(one, two), _mm_unpackhi_ps(one, two));
                let none = _mm_setzero_ps();
                let single = _mm_max_ps(_mm_unpacklo_ps(three, none), _mm_unpackhi_ps(three, none));
                let greatest = _mm_max_ps(_mm_movelh_ps(pair, single), _mm_movehl_ps(single, pair));
                U32x4(_mm_castps_si128(greatest))
            }
        }

        #[inline(always)]
        fn floats(self) -> __m128 {
            // SAFETY: every x86_64 has SSE2.
            unsafe { _mm_castsi128_ps(self.0) }
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use std::array::from_fn;

    #[derive(Debug, Clone, Copy)]
    pub(in crate::lzo) struct U32x4([u32; 4]);

    impl U32x4 {
        #[inline(always)]
        pub fn new(numbers: [u32; 4]) -> U32x4 {
            U32x4(numbers)
        }

        /// Four equal numbers.
        #[inline(always)]
        pub fn all(number: u32) -> U32x4 {
            U32x4([number; 4])
        }

        #[inline(always)]
        pub fn short_of(low: u16, words: u64) -> U32x4 {
            U32x4(from_fn(|lane| low.wrapping_sub((words >> (16 * lane)) as u16).into()))
        }

        #[inline(always)]
        pub fn each(self) -> [u32; 4] {
            self.0
        }

        #[inline(always)]
        pub fn plus(self, other: U32x4) -> U32x4 {
            U32x4(from_fn(|lane| self.0[lane].wrapping_add(other.0[lane])))
        }

        #[inline(always)]
        pub fn minus(self, other: U32x4) -> U32x4 {
            U32x4(from_fn(|lane| self.0[lane].wrapping_sub(other.0[lane])))
        }

        #[inline(always)]
        pub fn high(self) -> U32x4 {
            U32x4(self.0.map(|number| number << 16))
        }

        #[inline(always)]
        pub fn where_more(self, one: U32x4, other: U32x4) -> U32x4 {
            U32x4(from_fn(|lane| if one.0[lane] as i32 > other.0[lane] as i32 { self.0[lane] } else { 0 }))
        }

        #[inline(always)]
        pub fn max(self, other: U32x4) -> U32x4 {
            U32x4(from_fn(|lane| self.0[lane].max(other.0[lane])))
        }

        #[inline(always)]
        pub fn max_of_three(of: [U32x4; 3]) -> U32x4 {
            let [one, two, three] = of.map(|four| four.0.into_iter().fold(0, u32::max));
            U32x4([one, two, three, 0])
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use proptest::prelude::*;

    use super::{portable, sse2};

    /// Instantiates the tests for both implementations.
    macro_rules! all {
        ($way:ident, $numbers:expr, $low:expr, $words:expr) => {{
            use $way::U32x4;
            let [one, two, three] = $numbers.map(U32x4::new);
            let short = U32x4::short_of($low, $words);
            let rest = one.minus(two).where_more(one.minus(two), U32x4::all(1000));
            let done = [one.max(two), one.plus(two), rest, three.where_more(short, one), short.high(), short];
            (done.map(U32x4::each), U32x4::max_of_three([one, two, three]).each())
        }};
    }

    proptest! {
        #[test]
        fn portable_and_simd_results_are_equal(numbers: [[u32; 4]; 3], low: u16, words: u64) {
            let numbers = numbers.map(|four| four.map(|number| number % 0x3f00_0000));
            prop_assert_eq!(all!(sse2, numbers, low, words), all!(portable, numbers, low, words));
        }

        #[test]
        fn codes_small_numbers(numbers: [[u8; 4]; 3], low: u16, words: u64) {
            let numbers = numbers.map(|four| four.map(u32::from));
            prop_assert_eq!(all!(sse2, numbers, low, words), all!(portable, numbers, low, words));
        }
    }
}
