//! A hash with a secret key: several times as fast as BLAKE3, most of all for contents of a few KiB.
//!
//! The hash is universal: two different contents of at most 1 MiB have the same hash with a probability below 2^-100 over all
//! keys, whoever made the contents. The key is new in each run and nothing shows it, so the hash serves only to compare contents
//! within a run. The construction is VHASH (<https://eprint.iacr.org/2007/338>), twice with independent keys: sums of products
//! (NH) over pieces of 1 KiB, then a polynomial over their results.

use std::hash::{BuildHasher, RandomState};

/// Bytes of content that a sum of products covers.
const PIECE: usize = 1024;
/// Bytes of content in a product.
const PAIR: usize = 16;
/// The modulus of the polynomials, a prime.
const PRIME: u128 = (1 << 127) - 1;

/// A secret key.
pub(crate) struct HashKey {
    halves: [HalfKey; 2],
}

/// The key of one half of the hash.
struct HalfKey {
    /// Words that are added to the words of a piece.
    words: [[u64; 2]; PIECE / PAIR],
    /// The point at which the polynomial is evaluated, at most [`PRIME`].
    point: u128,
}

impl HashKey {
    /// A key from the operating system's random numbers.
    pub(crate) fn random() -> HashKey {
        let random = RandomState::new();
        let mut seed = [0; blake3::KEY_LEN];
        for (number, part) in seed.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *part = random.hash_one(number).to_le_bytes();
        }
        HashKey::from_seed(&seed)
    }

    fn from_seed(seed: &[u8; blake3::KEY_LEN]) -> HashKey {
        let mut stream = blake3::Hasher::new_keyed(seed).finalize_xof();
        let mut word = || {
            let mut bytes = [0; 8];
            stream.fill(&mut bytes);
            u64::from_le_bytes(bytes)
        };
        let halves = std::array::from_fn(|_| HalfKey {
            words: std::array::from_fn(|_| [word(), word()]),
            point: join([word(), word() >> 1]),
        });
        HashKey { halves }
    }

    /// Returns 64 bits of each half.
    pub(crate) fn hash(&self, content: &[u8]) -> [u64; 2] {
        let [first, second] = &self.halves;
        let mut sums = [0; 2];
        for piece in content.chunks(PIECE) {
            let [one, two] = self.products(piece);
            sums = [first.extend(sums[0], one), second.extend(sums[1], two)];
        }
        sums.map(|sum| sum as u64)
    }

    /// Returns the sum of products of each half. Zeros complete the last pair of words.
    fn products(&self, piece: &[u8]) -> [u128; 2] {
        let [first, second] = &self.halves;
        let mut sums = [0_u128; 2];
        let mut add = |pair: &[u8; PAIR], one: &[u64; 2], two: &[u64; 2]| {
            let words = split(u128::from_le_bytes(*pair));
            sums[0] = sums[0].wrapping_add(product(words, *one));
            sums[1] = sums[1].wrapping_add(product(words, *two));
        };
        let (pairs, rest) = piece.as_chunks::<PAIR>();
        let mut keys = first.words.iter().zip(&second.words);
        for (pair, (one, two)) in pairs.iter().zip(&mut keys) {
            add(pair, one, two);
        }
        if let (false, Some((one, two))) = (rest.is_empty(), keys.next()) {
            let mut pair = [0; PAIR];
            pair[..rest.len()].copy_from_slice(rest);
            add(&pair, one, two);
        }
        sums
    }
}

impl std::fmt::Debug for HashKey {
    /// Does not print the key.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HashKey")
    }
}

impl HalfKey {
    /// Extends a polynomial by one coefficient.
    fn extend(&self, sum: u128, coefficient: u128) -> u128 {
        multiply(fold(sum + fold(fold(coefficient))), self.point)
    }
}

fn product(words: [u64; 2], key: [u64; 2]) -> u128 {
    u128::from(words[0].wrapping_add(key[0])) * u128::from(words[1].wrapping_add(key[1]))
}

/// Reduces a number modulo [`PRIME`]: to at most [`PRIME`] if the number is at most twice as large.
fn fold(number: u128) -> u128 {
    (number & PRIME) + (number >> 127)
}

/// Returns the product modulo [`PRIME`], at most [`PRIME`], of two numbers that are at most [`PRIME`].
fn multiply(a: u128, b: u128) -> u128 {
    let [a_low, a_high] = split(a).map(u128::from);
    let [b_low, b_high] = split(b).map(u128::from);
    // 2^128 is 2, and 2^127 is 1.
    let high = 2 * a_high * b_high;
    let middle = a_high * b_low + a_low * b_high;
    let middle = fold(((middle & (u128::MAX >> 65)) << 64) + (middle >> 63));
    fold(high + fold(middle + fold(a_low * b_low)))
}

/// The low and the high word.
fn split(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

fn join([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;
    use proptest::prelude::*;

    use super::*;

    fn key(number: u8) -> HashKey {
        HashKey::from_seed(&[number; 32])
    }

    #[test]
    fn each_byte_and_the_key_change_both_halves() {
        let key_of_one = key(1);
        for length in [1, 15, 16, 17, 1000, 1023, 1024, 1025, 2048, 5000] {
            let mut content = Random::new(7).noise(length);
            let [one, two] = key_of_one.hash(&content);
            assert_eq!(key_of_one.hash(&content), [one, two]);
            let [other, another] = key(2).hash(&content);
            assert!(one != other && two != another && one != two, "{length}");
            for at in 0..length {
                content[at] ^= 1;
                let [other, another] = key_of_one.hash(&content);
                assert!(one != other && two != another, "{length} bytes, at {at}");
                content[at] ^= 1;
            }
        }
        assert_ne!(HashKey::random().hash(b"a"), HashKey::random().hash(b"a"));
    }

    #[test]
    fn pieces_and_words_in_another_order_have_another_hash() {
        let key = key(3);
        let content = Random::new(8).noise(3 * PIECE);
        let hash = key.hash(&content);
        for step in [8, 16, PIECE] {
            let mut other = content.clone();
            let (first, rest) = other.split_at_mut(step);
            first.swap_with_slice(&mut rest[..step]);
            assert_ne!(key.hash(&other), hash, "{step}");
        }
    }

    /// By doubling.
    fn multiply_slowly(a: u128, b: u128) -> u128 {
        (0..127).rev().fold(0, |sum, bit| {
            let double = sum * 2 % PRIME;
            if b >> bit & 1 == 1 { (double + a % PRIME) % PRIME } else { double }
        })
    }

    proptest! {
        #[test]
        fn products_are_reduced(a in 0..=PRIME, b in 0..=PRIME) {
            for (a, b) in [(a, b), (PRIME, b), (PRIME - 1, b), (a, 1), (PRIME, PRIME), (PRIME - 1, PRIME - 1)] {
                let product = multiply(a, b);
                prop_assert!(product <= PRIME);
                prop_assert_eq!(product % PRIME, multiply_slowly(a, b % PRIME));
            }
        }
    }
}
