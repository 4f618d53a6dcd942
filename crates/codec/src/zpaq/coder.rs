//! The arithmetic coder: each bit narrows a range of 32 bits. The leading bytes of the range are written once they are fixed.

use std::io::Read;

use super::fault::Fault;
use super::model::Predictor;
use super::source::Source;

/// The current range. `low` is never zero, so that four zeros can mark the end of the data.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: u32,
    high: u32,
}

impl Range {
    fn whole() -> Self {
        Range { low: 1, high: u32::MAX }
    }

    /// The last value that means a one. `probability` has 16 bits.
    #[inline]
    fn middle(&self, probability: u32) -> u32 {
        let size = u64::from(self.high - self.low);
        self.low + ((size * u64::from(probability)) >> 16) as u32
    }

    /// Narrows the range to the part of `bit`.
    #[inline]
    fn take(&mut self, middle: u32, bit: u32) {
        if bit == 1 {
            self.high = middle;
        } else {
            self.low = middle + 1;
        }
    }

    /// Whether both ends have the same first byte.
    #[inline]
    fn is_settled(&self) -> bool {
        (self.high ^ self.low) < 1 << 24
    }

    /// Removes the first byte.
    #[inline]
    fn shift(&mut self) {
        self.high = self.high << 8 | 0xFF;
        self.low = (self.low << 8).max(1);
    }
}

/// Writes coded bytes into a slice. Bytes beyond its end are only counted.
pub(super) struct BitEncoder<'a> {
    range: Range,
    out: &'a mut [u8],
    size: usize,
}

impl<'a> BitEncoder<'a> {
    /// A coder whose output follows the first `size` bytes of `out`.
    pub(super) fn new(out: &'a mut [u8], size: usize) -> Self {
        BitEncoder { range: Range::whole(), out, size }
    }

    #[inline]
    fn bit(&mut self, bit: u32, probability: u32) {
        self.range.take(self.range.middle(probability), bit);
        while self.range.is_settled() {
            // Bytes beyond the end are counted too, so that an overflow is detected.
            if let Some(byte) = self.out.get_mut(self.size) {
                *byte = (self.range.high >> 24) as u8;
            }
            self.size += 1;
            self.range.shift();
        }
    }

    #[inline]
    pub(super) fn byte(&mut self, model: &mut impl Predictor, byte: u8) -> Result<(), Fault> {
        self.bit(0, 0);
        for at in (0..8).rev() {
            let bit = u32::from(byte) >> at & 1;
            let probability = model.predict() * 2 + 1;
            self.bit(bit, probability);
            model.update(bit);
        }
        model.finish(byte)
    }

    /// Codes the end of the data. Returns the number of bytes, which is more than the slice holds if they did not fit.
    pub(super) fn end(mut self) -> usize {
        self.bit(1, 0);
        self.size
    }

    /// Whether all bytes so far fit.
    #[inline]
    pub(super) fn fits(&self) -> bool {
        self.size <= self.out.len()
    }
}

/// Decodes the output of a [`BitEncoder`].
#[derive(Debug)]
pub(super) struct BitDecoder {
    range: Range,
    /// The next four bytes of the coded data; 0 before the first byte.
    value: u32,
}

impl BitDecoder {
    /// For the first segment of a block. The range is not reset for the next segment.
    pub(super) fn new() -> Self {
        BitDecoder { range: Range::whole(), value: 0 }
    }

    #[inline]
    fn bit<R: Read>(&mut self, source: &mut Source<R>, probability: u32) -> Result<u32, Fault> {
        if !(self.range.low..=self.range.high).contains(&self.value) {
            return Err(Fault::Bad("its coded data is malformed"));
        }
        let middle = self.range.middle(probability);
        let bit = u32::from(self.value <= middle);
        self.range.take(middle, bit);
        while self.range.is_settled() {
            self.range.shift();
            self.value = self.value << 8 | u32::from(source.byte()?);
        }
        Ok(bit)
    }

    /// Decodes a byte. Returns `None` at the end of a segment's data.
    #[inline]
    pub(super) fn byte<R: Read>(
        &mut self,
        source: &mut Source<R>,
        model: &mut impl Predictor,
    ) -> Result<Option<u8>, Fault> {
        if self.value == 0 {
            self.value = source.word()?;
        }
        if self.bit(source, 0)? == 1 {
            return if self.value == 0 { Ok(None) } else { Err(Fault::Bad("its coded data continues after its end")) };
        }
        let mut byte = 1;
        while byte < 256 {
            let bit = self.bit(source, model.predict() * 2 + 1)?;
            model.update(bit);
            byte = byte * 2 + bit;
        }
        model.finish(byte as u8)?;
        Ok(Some(byte as u8))
    }
}
