//! Little-endian numbers, appended or written over existing bytes.

/// Appends little-endian numbers.
pub(super) trait Put {
    fn u16(&mut self, number: u16) -> &mut Self;
    fn u32(&mut self, number: u32) -> &mut Self;
    fn u64(&mut self, number: u64) -> &mut Self;
    fn all(&mut self, bytes: &[u8]) -> &mut Self;
}

impl Put for Vec<u8> {
    fn u16(&mut self, number: u16) -> &mut Self {
        self.all(&number.to_le_bytes())
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.all(&number.to_le_bytes())
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.all(&number.to_le_bytes())
    }

    fn all(&mut self, bytes: &[u8]) -> &mut Self {
        self.extend_from_slice(bytes);
        self
    }
}

/// The number of `length` bytes at `at`; bytes beyond the end count as zero.
pub(super) fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    (0..length).rev().fold(0, |sum, index| sum << 8 | u64::from(bytes.get(at + index).copied().unwrap_or(0)))
}

/// Overwrites a number of `length` bytes at `at`.
pub(super) fn over(bytes: &mut [u8], at: usize, length: usize, number: u64) {
    bytes[at..at + length].copy_from_slice(&number.to_le_bytes()[..length]);
}

/// Incompressible bytes, the same on every machine.
pub(super) fn noise(length: usize) -> Vec<u8> {
    crate::Random::new(length as u64).noise(length)
}
