//! Bits written from low to high, and read back from the last one written: the streams of this format are read from their end.

/// Bits of a stream that is read from its end. Its last byte's highest set bit is a mark behind the last bit written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backward<'a> {
    bytes: &'a [u8],
    /// Bits not yet read; negative once more were read than there are.
    left: isize,
}

impl<'a> Backward<'a> {
    /// A stream with nothing read. `None` without the mark.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let last = *bytes.last()?;
        let mark = last.checked_ilog2()?;
        Some(Backward { bytes, left: (bytes.len() as isize - 1) * 8 + mark as isize })
    }

    /// A stream of which `left` bits are not yet read. `None` if it has not so many.
    pub(super) fn resumed(bytes: &'a [u8], left: usize) -> Option<Self> {
        (left <= bytes.len() * 8).then_some(Backward { bytes, left: left as isize })
    }

    /// Bits not yet read; negative by what was read too much.
    pub(super) fn left(&self) -> isize {
        self.left
    }

    /// The next 57 bits or more, the next of all in the highest place; zeros where the stream has ended.
    pub(super) fn window(&self) -> u64 {
        let Ok(left) = usize::try_from(self.left) else { return 0 };
        let end = left.div_ceil(8);
        let word = match self.bytes.get(end.wrapping_sub(8)..end).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => self.beginning(end),
        };
        // The bits above `left` are read already; at most 7, as `end` was rounded up.
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

    /// Counts `bits` as read.
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

/// Bits put into a buffer from its front.
#[derive(Debug)]
pub(super) struct Forward<'a> {
    room: &'a mut [u8],
    size: usize,
    held: u64,
    bits: u32,
}

impl<'a> Forward<'a> {
    /// Writes into `room`.
    pub(super) fn new(room: &'a mut [u8]) -> Self {
        Forward { room, size: 0, held: 0, bits: 0 }
    }

    /// Goes on behind `size` bytes, with `bits` fewer than 8 held back.
    pub(super) fn resumed(room: &'a mut [u8], size: usize, held: u64, bits: u32) -> Self {
        Forward { room, size, held, bits }
    }

    /// Adds the lowest `bits` of `value`, which has none above them: up to 56. `None` if there is no room.
    pub(super) fn put(&mut self, value: u64, bits: u32) -> Option<()> {
        self.held |= value << self.bits;
        self.bits += bits;
        while self.bits >= 8 {
            self.byte()?;
            self.bits -= 8;
        }
        Some(())
    }

    fn byte(&mut self) -> Option<()> {
        *self.room.get_mut(self.size)? = self.held as u8;
        self.size += 1;
        self.held >>= 8;
        Some(())
    }

    /// The bytes written, with zeros behind the last bit.
    pub(super) fn end(mut self) -> Option<usize> {
        if self.bits > 0 {
            self.byte()?;
        }
        Some(self.size)
    }

    /// As [`Forward::end`], with the mark that a stream read from its end needs.
    pub(super) fn end_marked(mut self) -> Option<usize> {
        self.put(1, 1)?;
        self.end()
    }
}
