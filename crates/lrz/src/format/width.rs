//! Numbers of variable width.

/// Bytes of a number, 1 to 8, least significant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width(u8);

impl Width {
    pub(super) const TWO: Width = Width(2);
    /// Eight bytes, the largest width of the format.
    pub const FULL: Width = Width(8);

    /// Returns a width of 1 to 8 bytes; `None` for other numbers of bytes.
    pub fn new(bytes: u8) -> Option<Width> {
        (1..=8).contains(&bytes).then_some(Width(bytes))
    }

    /// The number of bytes, 1 to 8.
    pub fn bytes(self) -> usize {
        usize::from(self.0)
    }

    /// The largest number of this width.
    pub fn max_number(self) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(self.0))
    }

    /// Appends the lower bytes of a number.
    pub fn put(self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&number.to_le_bytes()[..self.bytes()]);
    }

    /// Reads the number at the start of `bytes`, which must be long enough.
    pub fn get(self, bytes: &[u8]) -> u64 {
        let mut all = [0; 8];
        all[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        u64::from_le_bytes(all)
    }
}

/// Returns the width that lrzip uses for a chunk of `chunk` bytes.
pub fn width_for(chunk: u64) -> Width {
    let bits = (64 - chunk.leading_zeros()).max(8);
    Width(bits.div_ceil(8) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_fits_the_length_of_the_chunk() {
        for (chunk, bytes) in
            [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 3), (u64::from(u32::MAX), 4), (1 << 32, 5)]
        {
            assert_eq!(width_for(chunk).bytes(), bytes, "{chunk}");
        }
        assert_eq!(width_for(u64::MAX), Width::FULL);
    }

    #[test]
    fn reads_the_numbers_that_it_appends() {
        for bytes in 1..=8 {
            let width = Width::new(bytes).unwrap();
            for number in [0, 1, 200, width.max_number()] {
                let mut out = Vec::new();
                width.put(number, &mut out);
                assert_eq!((out.len(), width.get(&out)), (width.bytes(), number));
            }
        }
        assert!(Width::new(0).is_none() && Width::new(9).is_none());
    }
}
