//! Bit streams written from low to high bits and read back from their end.

/// A bit stream read from its end. The highest set bit of its last byte is an end mark, after the last bit written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backward<'a> {
    bytes: &'a [u8],
    /// Bits not yet read; negative after reading beyond the start.
    left: isize,
}

impl<'a> Backward<'a> {
    /// `None` if the stream has no end mark.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let last = *bytes.last()?;
        let mark = last.checked_ilog2()?;
        Some(Backward { bytes, left: (bytes.len() as isize - 1) * 8 + mark as isize })
    }

    /// A stream with `left` unread bits. `None` if it is shorter.
    pub(super) fn resumed(bytes: &'a [u8], left: usize) -> Option<Self> {
        (left <= bytes.len() * 8).then_some(Backward { bytes, left: left as isize })
    }

    /// Bits not yet read; negative after reading beyond the start.
    pub(super) fn left(&self) -> isize {
        self.left
    }

    /// At least the next 57 bits, the next one in the highest place. Bits beyond the start of the stream are zeros.
    pub(super) fn window(&self) -> u64 {
        let Ok(left) = usize::try_from(self.left) else { return 0 };
        let end = left.div_ceil(8);
        let word = match self.bytes.get(end.wrapping_sub(8)..end).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => self.beginning(end),
        };
        // The bits above `left` were read; they are at most 7, because `end` was rounded up.
        word << (end * 8 - left)
    }

    /// The first `end` bytes, fewer than 8, in the highest places.
    fn beginning(&self, end: usize) -> u64 {
        let mut word = [0; 8];
        for (to, from) in word[8 - end.min(8)..].iter_mut().zip(self.bytes) {
            *to = *from;
        }
        u64::from_le_bytes(word)
    }

    /// Marks `bits` as read.
    pub(super) fn skip(&mut self, bits: u32) {
        self.left -= bits as isize;
    }

    /// The next bits, 0 to 57 of them.
    pub(super) fn read(&mut self, bits: u32) -> u32 {
        let found = self.window().checked_shr(64 - bits).unwrap_or(0);
        self.skip(bits);
        found as u32
    }
}

/// Writes bits to a buffer from its start.
#[derive(Debug)]
pub(super) struct Forward<'a> {
    /// Unwritten part of the buffer.
    out: &'a mut [u8],
    /// Length of the complete buffer.
    whole: usize,
    held: u64,
    /// Bits held, fewer than 8.
    bits: u32,
}

impl<'a> Forward<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Forward { whole: out.len(), out, held: 0, bits: 0 }
    }

    /// Continues after `size` bytes and `bits` held bits, fewer than 8. `None` if the buffer is shorter.
    pub(super) fn resumed(out: &'a mut [u8], size: usize, held: u64, bits: u32) -> Option<Self> {
        Some(Forward { whole: out.len(), out: out.get_mut(size..)?, held, bits })
    }

    /// As [`Forward::put`], but writes a complete word. Returns itself unchanged if less than a word is left in the buffer.
    #[inline(always)]
    pub(super) fn put_fast(self, value: u64, bits: u32) -> Result<Self, Self> {
        let held = self.held | value << self.bits;
        let bits = self.bits + bits;
        let Some(to) = self.out.first_chunk_mut::<8>() else { return Err(self) };
        *to = held.to_le_bytes();
        let done = bits as usize >> 3 & 7;
        // At most 63 bits are held, so that the shift is at most 56.
        Ok(Forward { out: &mut self.out[done..], held: held >> (bits & 56), bits: bits & 7, ..self })
    }

    /// Adds the lowest `bits`, up to 56, of `value`, whose other bits are zero. `None` if the buffer is full.
    #[inline]
    pub(super) fn put(self, value: u64, bits: u32) -> Option<Self> {
        self.put_fast(value, bits).or_else(|slow| slow.put_bytes(value, bits)).ok()
    }

    fn put_bytes(mut self, value: u64, bits: u32) -> Result<Self, ()> {
        self.held |= value << self.bits;
        self.bits += bits;
        while self.bits >= 8 {
            self = self.byte().ok_or(())?;
            self.bits -= 8;
        }
        Ok(self)
    }

    fn byte(self) -> Option<Self> {
        let (to, out) = self.out.split_first_mut()?;
        *to = self.held as u8;
        Some(Forward { out, held: self.held >> 8, ..self })
    }

    /// Returns the number of bytes written, with zeros after the last bit.
    pub(super) fn end(mut self) -> Option<usize> {
        if self.bits > 0 {
            self = self.byte()?;
        }
        Some(self.whole - self.out.len())
    }

    /// As [`Forward::end`], with the end mark that [`Backward`] needs.
    pub(super) fn end_marked(self) -> Option<usize> {
        self.put(1, 1)?.end()
    }
}
