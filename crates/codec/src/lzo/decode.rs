//! Decompresses LZO1X with all bounds checks, instruction by instruction.

use super::NAME;
use super::interior::{self, DecodePosition};
use super::writer::{M1_FAR_FIRST, M3_MOST, M3_SHORT, M4_SHORT};
use crate::CodecError;

/// Added to the length of a run whose first byte does not hold the length.
const LONG_RUN: usize = 18;
/// Number of bytes copied at once if both buffers have as many left.
const STRIDE: usize = 16;

/// A fault of a stream, before its sizes are added.
pub(super) enum Fault {
    Malformed(&'static str),
    /// The content exceeds the destination.
    TooLong,
}

const TOO_SHORT: Fault = Fault::Malformed("ends too early");
const TOO_FAR: Fault = Fault::Malformed("a match reaches back before the block");

struct Machine<'a> {
    src: &'a [u8],
    dst: &'a mut [u8],
    read: usize,
    written: usize,
    /// Number of preceding literals: 0 to 3 attached to a match, or 4 for a separate run.
    run: usize,
}

/// Decompresses `src` into `dst`. Returns the number of bytes written.
pub(super) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
    let size = src.len();
    let capacity = dst.len();
    let mut machine = Machine { src, dst, read: 0, written: 0, run: 0 };
    machine.run().map_err(|wrong| match wrong {
        Fault::Malformed(reason) => CodecError::Malformed { codec: NAME, size, reason },
        Fault::TooLong => CodecError::TooLong { codec: NAME, size, capacity },
    })?;
    Ok(machine.written)
}

impl Machine<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        self.run = self.first()?;
        loop {
            let reached = DecodePosition { read: self.read, written: self.written, run: self.run };
            DecodePosition { read: self.read, written: self.written, run: self.run } =
                interior::decode(self.src, self.dst, reached);
            if self.step()? {
                return Ok(());
            }
        }
    }

    /// Executes one instruction. Returns true if it was the last.
    fn step(&mut self) -> Result<bool, Fault> {
        let tag = usize::from(self.byte()?);
        let (length, distance) = match tag {
            64.. => ((tag >> 5) + 1, 1 + ((tag >> 2) & 7) + (usize::from(self.byte()?) << 3)),
            32..64 => {
                let length = self.length(tag & 31, M3_SHORT)?;
                self.has_pair()?;
                (length, 1 + (self.peek_pair() >> 2))
            }
            16..32 => {
                let length = self.length(tag & 7, M4_SHORT)?;
                self.has_pair()?;
                let back = ((tag & 8) << 11) + (self.peek_pair() >> 2);
                if back == 0 {
                    return self.end(tag, length).map(|()| true);
                }
                (length, M3_MOST + back)
            }
            _ if self.run == 0 => {
                let count = self.length(tag, LONG_RUN - 1)? + 1;
                self.literals(count)?;
                self.run = 4;
                return Ok(false);
            }
            _ => {
                let back = (tag >> 2) + (usize::from(self.byte()?) << 2);
                if self.run < 4 { (2, 1 + back) } else { (3, M1_FAR_FIRST + back) }
            }
        };
        // The low two bits of the second-to-last byte are the number of literals that follow.
        self.run = if (16..64).contains(&tag) { self.skip_pair() & 3 } else { tag & 3 };
        self.found(length, distance)?;
        self.attached_literals(self.run)?;
        Ok(false)
    }

    /// Handles the first byte, which may be a run in a short form.
    fn first(&mut self) -> Result<usize, Fault> {
        match self.src.first() {
            Some(&tag) if tag > 17 => {
                self.read = 1;
                let count = usize::from(tag) - 17;
                self.literals(count)?;
                Ok(count.min(4))
            }
            _ => Ok(0),
        }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.src.get(self.read).ok_or(TOO_SHORT)?;
        self.read += 1;
        Ok(byte)
    }

    fn has_pair(&self) -> Result<(), Fault> {
        if self.src.len() - self.read < 2 { Err(TOO_SHORT) } else { Ok(()) }
    }

    fn peek_pair(&self) -> usize {
        usize::from(u16::from_le_bytes([self.src[self.read], self.src[self.read + 1]]))
    }

    fn skip_pair(&mut self) -> usize {
        let low = usize::from(self.src[self.read]);
        self.read += 2;
        low
    }

    /// Returns a length: the one in the tag, or, if that is zero, the one in the following bytes. `short` is the longest that fits the tag.
    #[inline]
    fn length(&mut self, coded: usize, short: usize) -> Result<usize, Fault> {
        if coded > 0 {
            return Ok(coded + 2);
        }
        let mut length = short;
        loop {
            match self.byte()? {
                0 => length = length.checked_add(255).ok_or(TOO_SHORT)?,
                last => return Ok(length + usize::from(last)),
            }
        }
    }

    #[inline]
    fn attached_literals(&mut self, count: usize) -> Result<(), Fault> {
        // Copies four bytes where possible. The excess is overwritten later.
        let from = self.src.get(self.read..self.read + 4);
        let to = self.dst.get_mut(self.written..self.written + 4);
        let (Some(from), Some(to)) = (from, to) else { return self.literals(count) };
        to.copy_from_slice(from);
        self.read += count;
        self.written += count;
        Ok(())
    }

    #[inline]
    fn literals(&mut self, count: usize) -> Result<(), Fault> {
        if count <= STRIDE {
            let from = self.src.get(self.read..self.read + STRIDE);
            let to = self.dst.get_mut(self.written..self.written + STRIDE);
            if let (Some(from), Some(to)) = (from, to) {
                to.copy_from_slice(from);
                self.read += count;
                self.written += count;
                return Ok(());
            }
        }
        let from = self.src.get(self.read..self.read + count).ok_or(TOO_SHORT)?;
        let to = self.dst.get_mut(self.written..self.written + count).ok_or(Fault::TooLong)?;
        to.copy_from_slice(from);
        self.read += count;
        self.written += count;
        Ok(())
    }

    #[inline]
    fn found(&mut self, length: usize, distance: usize) -> Result<(), Fault> {
        let at = self.written;
        let start = at.checked_sub(distance).ok_or(TOO_FAR)?;
        if self.dst.len() - at < length {
            return Err(Fault::TooLong);
        }
        self.written = at + length;
        if distance >= STRIDE && self.dst.len() - at >= length + STRIDE {
            strides(self.dst, start, at, length);
        } else {
            overlapping(self.dst, start, at, length);
        }
        Ok(())
    }

    fn end(&mut self, tag: usize, length: usize) -> Result<(), Fault> {
        self.read += 2;
        // The end mark is a match of three bytes.
        if (tag, length) != (0x11, 3) {
            return Err(Fault::Malformed("not a stream of this format"));
        }
        if self.read < self.src.len() {
            return Err(Fault::Malformed("bytes follow the end of the stream"));
        }
        Ok(())
    }
}

/// Copies in complete strides; the excess is overwritten later. One more stride fits, and no stride overlaps its source.
#[inline]
fn strides(dst: &mut [u8], start: usize, at: usize, length: usize) {
    let mut done = 0;
    while done < length {
        let piece: [u8; STRIDE] = std::array::from_fn(|index| dst[start + done + index]);
        dst[at + done..at + done + STRIDE].copy_from_slice(&piece);
        done += STRIDE;
    }
}

/// Copies a match that may overlap itself: each copy doubles the bytes available to the next.
fn overlapping(dst: &mut [u8], start: usize, at: usize, length: usize) {
    let mut done = 0;
    while done < length {
        let piece = (at + done - start).min(length - done);
        dst.copy_within(start..start + piece, at + done);
        done += piece;
    }
}
