//! A small generator of reproducible numbers: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Its
//! stream must never change: golden hashes depend on it.

/// A stream of numbers determined by its seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is at least 1. The bias below 2^32 is negligible for tests.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// `length` incompressible bytes.
    pub fn noise(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.bits().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    /// `length` bytes that compress about as text does: words of a small vocabulary, numbers and line ends.
    pub fn prose(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 16);
        while bytes.len() < length {
            self.word(&mut bytes);
        }
        bytes.truncate(length);
        bytes
    }

    fn word(&mut self, bytes: &mut Vec<u8>) {
        const SYLLABLES: [&str; 16] =
            ["ba", "con", "der", "el", "fi", "gra", "ho", "is", "jun", "ka", "lin", "mo", "ne", "or", "pre", "tion"];
        let draw = self.bits();
        if draw.is_multiple_of(13) {
            bytes.extend_from_slice((draw >> 40).to_string().as_bytes());
        }
        for step in 0..1 + draw % 4 {
            let index = (draw >> (8 + 4 * step)) % 16;
            bytes.extend_from_slice(SYLLABLES[index as usize].as_bytes());
        }
        bytes.push(if draw.is_multiple_of(11) { b'\n' } else { b' ' });
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_splitmix64() {
        // The first outputs for seed 1234567, as published with the reference implementation.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..1000).collect();
        Random::new(7).shuffle(&mut items);
        assert_ne!(items[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..1000));
    }

    #[test]
    fn lengths_are_exact() {
        for length in [0, 1, 7, 8, 9, 4097] {
            assert_eq!(Random::new(1).noise(length).len(), length);
            assert_eq!(Random::new(1).prose(length).len(), length);
        }
    }
}
