//! The rolling hash "gear" over 32 bytes, which chooses samples by content.
//!
//! `hash = 2 * hash + TABLE[byte]` in 32 bits: a byte's contribution is shifted out after 32 more bytes, so the hash depends only on the
//! last 32 bytes, at any position (the chunker of Xia et al., "Ddelta", 2014). A sample is a position where the hash is small.

/// Number of bytes that determine a hash and a fingerprint.
pub(crate) const WINDOW: usize = 32;

/// The same in a second pass that searches for short matches.
pub(crate) const SHORT_WINDOW: usize = 24;

const TABLE: [u32; 256] = table();

/// The high halves of 256 words of the generator splitmix64.
const fn table() -> [u32; 256] {
    let mut words = [0; 256];
    let mut state = 0x7061_636b_6c69_6e65_u64;
    let mut index = 0;
    while index < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        words[index] = (mixed >> 32) as u32;
        index += 1;
    }
    words
}

fn step(hash: u32, byte: u8) -> u32 {
    (hash << 1).wrapping_add(TABLE[usize::from(byte)])
}

/// Calls `found` with each position in `bytes` where the hash of the next `LENGTH` bytes (at most 32) is below `threshold`, and with the
/// hash. `found` returns the threshold for later positions.
pub(crate) fn scan<const LENGTH: usize>(bytes: &[u8], mut threshold: u32, mut found: impl FnMut(usize, u32) -> u32) {
    let Some((head, rest)) = bytes.split_at_checked(LENGTH - 1) else { return };
    let mut state = head.iter().fold(0, |hash, &byte| step(hash, byte));
    // Earlier bytes do not affect the lowest bits.
    let mut next = |byte| {
        state = step(state, byte);
        state << (WINDOW - LENGTH)
    };
    let (words, tail) = rest.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        for (offset, &byte) in word.iter().enumerate() {
            let hash = next(byte);
            if hash < threshold {
                threshold = found(at + offset, hash);
            }
        }
        at += word.len();
    }
    for (offset, &byte) in tail.iter().enumerate() {
        let hash = next(byte);
        if hash < threshold {
            threshold = found(at + offset, hash);
        }
    }
}

/// 64 well mixed bits of up to 32 bytes. Shorter input is padded with zeros.
pub(crate) fn fingerprint_of(bytes: &[u8]) -> u64 {
    let mut window = [0; WINDOW];
    let length = bytes.len().min(WINDOW);
    window[..length].copy_from_slice(&bytes[..length]);
    fingerprint(&window)
}

/// 64 well mixed bits of 32 bytes: two folded products (as in wyhash), mixed once more.
pub(crate) fn fingerprint(bytes: &[u8; WINDOW]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    let word = |index: usize, salt: u64| u64::from_le_bytes(words[index]) ^ salt;
    let low = folded(word(0, 0xa076_1d64_78bd_642f), word(1, 0xe703_7ed1_a0b4_28db));
    let high = folded(word(2, 0x8ebc_6af0_9c88_c6e3), word(3, 0x5899_65cc_7537_4cc3));
    folded(low ^ 0x1d8e_4e27_c47d_124f, high)
}

fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::noise;

    fn positions<const LENGTH: usize>(bytes: &[u8], threshold: u32) -> Vec<usize> {
        let mut positions = Vec::new();
        scan::<LENGTH>(bytes, threshold, |at, _| {
            positions.push(at);
            threshold
        });
        positions
    }

    fn chosen_by_its_own_bytes<const LENGTH: usize>() {
        let bytes = noise(10_000, 1);
        let all = positions::<LENGTH>(&bytes, 1 << 27);
        assert!((200..450).contains(&all.len()), "one in 32, but {} of some 10,000", all.len());
        for at in 0..=bytes.len() - LENGTH {
            let alone = positions::<LENGTH>(&bytes[at..at + LENGTH], 1 << 27);
            assert_eq!(alone.len(), usize::from(all.binary_search(&at).is_ok()), "at {at}");
        }
    }

    #[test]
    fn a_position_is_chosen_by_its_own_bytes_alone() {
        chosen_by_its_own_bytes::<WINDOW>();
        chosen_by_its_own_bytes::<SHORT_WINDOW>();
    }

    #[test]
    fn chooses_no_position_in_too_few_bytes() {
        assert_eq!(positions::<WINDOW>(&[0; WINDOW - 1], u32::MAX), []);
        assert_eq!(positions::<SHORT_WINDOW>(&[0; SHORT_WINDOW - 1], u32::MAX), []);
        assert_eq!(positions::<WINDOW>(&[], u32::MAX), []);
    }

    #[test]
    fn each_bit_changes_the_fingerprint() {
        assert_eq!(fingerprint_of(&[7; WINDOW + 1]), fingerprint(&[7; WINDOW]));
        assert_ne!(fingerprint_of(&[7; SHORT_WINDOW]), fingerprint_of(&[7; SHORT_WINDOW + 1]));
        let plain = [7; WINDOW];
        for bit in 0..WINDOW * 8 {
            let mut other = plain;
            other[bit / 8] ^= 1 << (bit % 8);
            let differing = (fingerprint(&plain) ^ fingerprint(&other)).count_ones();
            assert!((12..=52).contains(&differing), "bit {bit} changes {differing} bits");
        }
    }
}
