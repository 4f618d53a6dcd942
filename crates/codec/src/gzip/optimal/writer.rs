//! Writes bits.

/// Writes bits to a buffer of fixed size, the lowest first.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
    /// Bits that are not written yet, fewer than 32.
    bits: u64,
    count: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Writer<'a> {
        Writer { out, at: 0, bits: 0, count: 0 }
    }

    /// Writes up to 32 bits. `None` if they do not fit.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u32, count: u32) -> Option<()> {
        self.bits |= u64::from(value) << self.count;
        self.count += count;
        if self.count >= u32::BITS {
            self.out.get_mut(self.at..self.at + 4)?.copy_from_slice(&(self.bits as u32).to_le_bytes());
            self.at += 4;
            self.bits >>= u32::BITS;
            self.count -= u32::BITS;
        }
        Some(())
    }

    /// Writes the bits up to the next complete byte, and then bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        let rest = self.count.div_ceil(8) as usize;
        self.out.get_mut(self.at..self.at + rest)?.copy_from_slice(&self.bits.to_le_bytes()[..rest]);
        self.at += rest;
        self.bits = 0;
        self.count = 0;
        self.out.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    /// Writes the last bits. Returns the total number of bytes.
    pub(super) fn finish(mut self) -> Option<usize> {
        self.bytes(&[])?;
        Some(self.at)
    }
}
