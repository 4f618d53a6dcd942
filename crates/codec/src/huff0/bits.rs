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
    /// What is left of the buffer.
    room: &'a mut [u8],
    /// Bytes of the buffer.
    whole: usize,
    held: u64,
    /// Bits held, fewer than 8.
    bits: u32,
}

impl<'a> Forward<'a> {
    /// Writes into `room`.
    pub(super) fn new(room: &'a mut [u8]) -> Self {
        Forward { whole: room.len(), room, held: 0, bits: 0 }
    }

    /// Goes on behind `size` bytes, with `bits` fewer than 8 held back. `None` if there are not so many bytes.
    pub(super) fn resumed(room: &'a mut [u8], size: usize, held: u64, bits: u32) -> Option<Self> {
        Some(Forward { whole: room.len(), room: room.get_mut(size..)?, held, bits })
    }

    /// As [`Forward::put`], where a whole word may be written, however few of its bits are meant. As it was, if not.
    #[inline(always)]
    pub(super) fn put_fast(self, value: u64, bits: u32) -> Result<Self, Self> {
        let held = self.held | value << self.bits;
        let bits = self.bits + bits;
        let Some(to) = self.room.first_chunk_mut::<8>() else { return Err(self) };
        *to = held.to_le_bytes();
        let done = bits as usize >> 3 & 7;
        // At most 63 bits are held, so that the shift is at most 56.
        Ok(Forward { room: &mut self.room[done..], held: held >> (bits & 56), bits: bits & 7, ..self })
    }

    /// Adds the lowest `bits` of `value`, which has none above them: up to 56. `None` if there is no room.
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
        let (to, room) = self.room.split_first_mut()?;
        *to = self.held as u8;
        Some(Forward { room, held: self.held >> 8, ..self })
    }

    /// The bytes written, with zeros behind the last bit.
    pub(super) fn end(mut self) -> Option<usize> {
        if self.bits > 0 {
            self = self.byte()?;
        }
        Some(self.whole - self.room.len())
    }

    /// As [`Forward::end`], with the mark that a stream read from its end needs.
    pub(super) fn end_marked(self) -> Option<usize> {
        self.put(1, 1)?.end()
    }
}
