//! The checksum of a window that moves over a file byte by byte: a polynomial over the bytes, modulo 2^64.

/// The point at which the polynomial is evaluated. It is odd, so that every byte of a long window counts.
pub(crate) const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Powers of the base for eight bytes, the highest first.
const POWERS: [u64; 8] = powers();

const fn powers() -> [u64; 8] {
    let mut powers = [1u64; 8];
    let mut at = 7;
    while at > 0 {
        powers[at - 1] = powers[at].wrapping_mul(BASE);
        at -= 1;
    }
    powers
}

/// Returns the checksum of a window with these bytes appended. The checksum of an empty window is 0.
pub(crate) fn appended(mut sum: u64, bytes: &[u8]) -> u64 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let by_eight = POWERS[0].wrapping_mul(BASE);
    for eight in eights {
        let of_eight = eight.iter().zip(POWERS).map(|(&byte, power)| u64::from(byte).wrapping_mul(power));
        sum = sum.wrapping_mul(by_eight).wrapping_add(of_eight.fold(0, u64::wrapping_add));
    }
    rest.iter().fold(sum, |sum, &byte| sum.wrapping_mul(BASE).wrapping_add(u64::from(byte)))
}

/// Moves a window of a fixed size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rolling {
    /// The base to the power of the window's size minus 1.
    first: u64,
}

impl Rolling {
    pub(crate) fn new(window: u64) -> Rolling {
        let mut first = 1u64;
        let mut square = BASE;
        let mut left = window - 1;
        while left > 0 {
            if left & 1 == 1 {
                first = first.wrapping_mul(square);
            }
            square = square.wrapping_mul(square);
            left >>= 1;
        }
        Rolling { first }
    }

    /// Returns the checksum of the window one byte later.
    pub(crate) fn moved(self, sum: u64, out: u8, into: u8) -> u64 {
        let kept = sum.wrapping_sub(u64::from(out).wrapping_mul(self.first));
        kept.wrapping_mul(BASE).wrapping_add(u64::from(into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_window_has_the_checksum_of_its_bytes() {
        let bytes: Vec<u8> = (0..500u32).map(|number| ((number * number) >> 3) as u8).collect();
        for window in [1, 7, 8, 64, 100] {
            let rolling = Rolling::new(window as u64);
            let mut sum = appended(0, &bytes[..window]);
            for at in 0..bytes.len() - window {
                sum = rolling.moved(sum, bytes[at], bytes[at + window]);
                assert_eq!(sum, appended(0, &bytes[at + 1..=at + window]));
                let (head, tail) = bytes[at + 1..=at + window].split_at(window / 3);
                assert_eq!(sum, appended(appended(0, head), tail));
            }
        }
    }
}
