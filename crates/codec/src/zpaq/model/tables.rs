//! Tables between probabilities and logits, computed at compile time.
//!
//! They use only sums, products and quotients of `f64`, which every machine rounds in the same way, so that the output is the same
//! everywhere.

/// `round(64 * ln((x + 0.5) / (32767.5 - x)))` for a probability x of 15 bits.
static STRETCH: [i16; 1 << 15] = stretches();

/// `floor(32768 / (1 + e^(-x / 64)))` at x + 2048.
static SQUASH: [i16; 1 << 12] = squashes();

/// `floor(2^17 / (2 n + 3)) * 2`: the rate of a probability after n updates.
pub(super) static ADAPT: [i32; 1 << 10] = adaptations();

/// The logit of a probability of 15 bits, in -710..=710.
#[inline]
pub(super) fn stretch(probability: u32) -> i32 {
    i32::from(STRETCH[(probability & 0x7FFF) as usize])
}

/// The probability of 15 bits of a logit in -2048..=2047.
#[inline]
pub(super) fn squash(logit: i32) -> i32 {
    i32::from(SQUASH[((logit + 2048) & 0xFFF) as usize])
}

/// The difference of a bit and the probability of a logit, 15 bits and a sign.
#[inline]
pub(super) fn miss(bit: u32, logit: i32) -> i32 {
    (bit * 32767) as i32 - squash(logit)
}

/// Clamps `x` to 12 signed bits.
#[inline]
pub(super) fn clamp12(x: i32) -> i32 {
    x.clamp(-2048, 2047)
}

/// Clamps `x` to 20 signed bits.
#[inline]
pub(super) fn clamp20(x: i32) -> i32 {
    x.clamp(-(1 << 19), (1 << 19) - 1)
}

/// e^(x / 128).
const fn exp(x: i32) -> f64 {
    let whole = x.div_euclid(128);
    let part = x.rem_euclid(128) as f64 / 128.0;
    let mut sum = 1.0;
    let mut term = 1.0;
    let mut n = 1;
    while n < 20 {
        term = term * part / n as f64;
        sum += term;
        n += 1;
    }
    let mut left = whole.unsigned_abs();
    while left > 0 {
        sum = if whole < 0 { sum / std::f64::consts::E } else { sum * std::f64::consts::E };
        left -= 1;
    }
    sum
}

const fn squashes() -> [i16; 1 << 12] {
    let mut table = [0; 1 << 12];
    let mut at = 0;
    while at < 1 << 12 {
        table[at] = (32768.0 / (1.0 + exp((2048 - at as i32) * 2))) as i16;
        at += 1;
    }
    table
}

/// The upper half increases by one wherever the odds pass e^((y + 1/2) / 64); the lower half mirrors it.
const fn stretches() -> [i16; 1 << 15] {
    let mut table = [0; 1 << 15];
    let mut at = 1 << 14;
    let mut logit = 0i16;
    let mut next = exp(1);
    while at < 1 << 15 {
        let odds = (at as f64 + 0.5) / (32767.5 - at as f64);
        while odds >= next {
            logit += 1;
            next = exp(2 * logit as i32 + 1);
        }
        table[at] = logit;
        table[32767 - at] = -logit;
        at += 1;
    }
    table
}

const fn adaptations() -> [i32; 1 << 10] {
    let mut table = [0; 1 << 10];
    let mut count = 0;
    while count < 1 << 10 {
        table[count] = (1 << 17) / (2 * count as i32 + 3) * 2;
        count += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums that the reference implementation asserts of its own tables.
    #[test]
    fn tables_match_the_reference() {
        let sum = |sum: u32, value: i32| sum.wrapping_mul(3).wrapping_add(value as u32);
        assert_eq!((0..1 << 15).rev().map(stretch).fold(0, sum), 3_887_533_746);
        assert_eq!((-2048..2048).rev().map(squash).fold(0, sum), 2_278_286_169);
    }

    #[test]
    fn logits_and_probabilities_convert_both_ways() {
        assert_eq!((stretch(0), stretch(16384), stretch(32767)), (-710, 0, 710));
        assert_eq!((squash(-2048), squash(0), squash(2047)), (0, 16384, 32767));
        assert!((-600..600).all(|logit| (stretch(squash(logit) as u32) - logit).abs() <= 16));
        assert_eq!((ADAPT[0], ADAPT[1023]), (87380, 126));
    }

    #[test]
    fn clamps_at_the_limits() {
        assert_eq!((clamp12(-9000), clamp12(9000), clamp12(7)), (-2048, 2047, 7));
        assert_eq!((clamp20(i32::MIN), clamp20(i32::MAX)), (-524_288, 524_287));
    }
}
