//! The range coder.

/// Bits of a probability.
const BITS: u32 = 11;
/// A probability at which both bits are equally likely.
pub(super) const EVEN: Probability = 1 << (BITS - 1);
/// How fast a probability adapts.
const MOVE: u32 = 5;
/// Bytes that [`RangeEncoder::finish`] adds.
pub(super) const FLUSH: usize = 4;

/// The probability of a 0, in 1/2048.
pub(super) type Probability = u16;

/// Codes bits into a part of the output. Bytes that do not fit are counted but not written.
pub(super) struct RangeEncoder<'a> {
    low: u64,
    range: u32,
    out: &'a mut [u8],
    at: usize,
}

impl<'a> RangeEncoder<'a> {
    /// Starts at `at` of `out`, with the byte 0 that all coded data starts with.
    pub(super) fn new(out: &'a mut [u8], at: usize) -> RangeEncoder<'a> {
        let mut range = RangeEncoder { low: 0, range: u32::MAX, out, at };
        range.put(0);
        range
    }

    /// Index in the output of the next byte, as if the output had no end.
    #[inline(always)]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn put(&mut self, byte: u8) {
        if let Some(there) = self.out.get_mut(self.at) {
            *there = byte;
        }
        self.at += 1;
    }

    /// Writes the highest byte, which changes no more except for a carry.
    #[inline(always)]
    fn shift(&mut self) {
        let carry = (self.low >> 32) as u8;
        if let Some(last) = self.out.get_mut(self.at - 1) {
            let is_over;
            (*last, is_over) = last.overflowing_add(carry);
            if is_over {
                self.carry();
            }
        }
        self.put((self.low >> 24) as u8);
        self.low = self.low << 8 & 0xffff_ffff;
    }

    /// Adds a carry to the bytes before the last one.
    #[cold]
    fn carry(&mut self) {
        for byte in self.out[..self.at - 1].iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }

    /// Codes a bit, 0 or 1.
    #[inline(always)]
    pub(super) fn bit(&mut self, probability: &mut Probability, bit: u32) {
        let before = u32::from(*probability);
        let bound = (self.range >> BITS) * before;
        let one = bit.wrapping_neg();
        self.low += u64::from(bound & one);
        self.range = (self.range - bound) & one | bound & !one;
        // Adapts towards 2^11 - 31 for a 0 and towards 31 for a 1, without a branch, which would be mispredicted.
        let goal = ((1 << MOVE) - 1i32 - (1 << BITS)) & !one as i32;
        *probability = (before as i32 - ((before as i32 + goal) >> MOVE)) as Probability;
        if self.range < 1 << 24 {
            self.range <<= 8;
            self.shift();
        }
    }

    /// Codes the lowest `count` bits of a number. Both values of a bit are equally likely.
    #[inline(always)]
    pub(super) fn even_bits(&mut self, number: u32, count: u32) {
        for index in (0..count).rev() {
            self.range >>= 1;
            self.low += u64::from(self.range & (number >> index & 1).wrapping_neg());
            if self.range < 1 << 24 {
                self.range <<= 8;
                self.shift();
            }
        }
    }

    /// Codes the lowest `count` bits of a number, the highest of them first, each by the probability that the previous bits choose. There
    /// are 2^`count` probabilities.
    #[inline(always)]
    pub(super) fn tree(&mut self, probabilities: &mut [Probability], number: u32, count: u32) {
        let mut node = 1;
        for index in (0..count).rev() {
            let bit = number >> index & 1;
            self.bit(&mut probabilities[node], bit);
            node = node << 1 | bit as usize;
        }
    }

    /// As [`RangeEncoder::tree`], with the lowest bit first.
    #[inline(always)]
    pub(super) fn reverse_tree(&mut self, probabilities: &mut [Probability], number: u32, count: u32) {
        let mut node = 1;
        for index in 0..count {
            let bit = number >> index & 1;
            self.bit(&mut probabilities[node], bit);
            node = node << 1 | bit as usize;
        }
    }

    /// Writes the remaining bytes. Returns the index after the last byte.
    pub(super) fn finish(mut self) -> usize {
        for _ in 0..FLUSH {
            self.shift();
        }
        self.at
    }
}
