//! Bits of a byte string at any offset, with the highest bit of each byte first, as bzip2 counts them.

/// The `count` (at most 56) bits from bit `at` on. `None` if there are fewer bits.
pub(super) fn bits(bytes: &[u8], at: usize, count: u32) -> Option<u64> {
    let first = at / 8;
    let shift = (at % 8) as u32;
    let end = (at + count as usize).div_ceil(8);
    let window = bytes.get(first..end)?;
    let value = window.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let excess = (window.len() * 8) as u32 - shift - count;
    Some(value >> excess & ((1u64 << count) - 1))
}

#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    held: u32,
}

impl BitWriter {
    /// Appends the `count` (at most 48) low bits of `value`.
    pub fn push(&mut self, value: u64, count: u32) {
        self.pending = self.pending << count | value & ((1u64 << count) - 1);
        self.held += count;
        while self.held >= 8 {
            self.held -= 8;
            self.bytes.push((self.pending >> self.held) as u8);
        }
    }

    /// Appends bits `start..end` of `bytes`, which must exist. The writer must be at a byte boundary.
    pub fn copy(&mut self, bytes: &[u8], start: usize, end: usize) {
        let shift = start % 8;
        let whole = (end - start) / 8;
        let source = &bytes[start / 8..];
        if shift == 0 {
            self.bytes.extend_from_slice(&source[..whole]);
        } else {
            let join = |pair: &[u8]| pair[0] << shift | pair[1] >> (8 - shift);
            self.bytes.extend(source.windows(2).take(whole).map(join));
        }
        let rest = ((end - start) % 8) as u32;
        if let Some(tail) = bits(bytes, end - rest as usize, rest) {
            self.push(tail, rest);
        }
    }

    /// The bytes, with the last byte padded with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        if self.held > 0 {
            self.push(0, 8 - self.held);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_across_bytes() {
        assert_eq!(bits(&[0b1010_0101, 0xff], 2, 4), Some(0b1001));
        assert_eq!(bits(&[0x12, 0x34, 0x56], 4, 16), Some(0x2345));
        assert_eq!(bits(&[0x12], 4, 5), None);
        assert_eq!(bits(&[], 0, 0), Some(0));
    }

    proptest! {
        #[test]
        fn copies_are_the_bits(
            bytes in prop::collection::vec(any::<u8>(), 1..40), from in 0usize..400, to in 0usize..400
        ) {
            let from = from.min(bytes.len() * 8);
            let to = to.min(bytes.len() * 8);
            let start = from.min(to);
            let end = from.max(to);
            let mut writer = BitWriter::default();
            writer.copy(&bytes, start, end);
            let copied = writer.finish();
            prop_assert_eq!(copied.len(), (end - start).div_ceil(8));
            for at in start..end {
                prop_assert_eq!(bits(&bytes, at, 1), bits(&copied, at - start, 1));
            }
        }
    }
}
