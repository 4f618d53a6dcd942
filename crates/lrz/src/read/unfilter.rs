//! Reverses filters incrementally.
//!
//! The branch filters equal those of LZMA's SDK (Bra86.c, Bra.c) and xz. The encoder replaced the relative target of a call or jump by an
//! absolute one, counted from the start of the filtered data.

use std::io::{self, Read};

use crate::format::Filter;

/// Bytes of an x86 instruction: its opcode and a target of four bytes.
const X86_LENGTH: usize = 5;
/// Upper bound for the times that a target is decoded again because it still looks encoded.
const ROUNDS: usize = 8;

/// Reverses a filter. Bytes at the end of a piece that may begin an instruction are left for the next call.
pub(super) struct Unfilter {
    filter: Filter,
    /// Bytes processed so far.
    at: u64,
    /// x86: which of the three preceding bytes may have been opcodes. The last byte is in bit 0.
    mask: u32,
    /// Delta: the preceding bytes.
    before: [u8; 4],
}

impl Unfilter {
    pub(super) fn new(filter: Filter) -> Unfilter {
        Unfilter { filter, at: 0, mask: 0, before: [0; 4] }
    }

    /// Reverses the filter in place, and returns the number of processed bytes. If `last`, all bytes are processed.
    pub(super) fn undo(&mut self, bytes: &mut [u8], last: bool) -> usize {
        let done = match self.filter {
            Filter::X86 => self.x86(bytes),
            Filter::Arm64 => self.arm64(bytes),
            Filter::Delta(distance) => self.delta(bytes, usize::from(distance)),
        };
        let done = if last { bytes.len() } else { done };
        self.at += done as u64;
        done
    }

    fn delta(&mut self, bytes: &mut [u8], distance: usize) -> usize {
        for (index, byte) in bytes.iter_mut().enumerate() {
            let slot = &mut self.before[(self.at as usize + index) % distance];
            *byte = byte.wrapping_add(*slot);
            *slot = *byte;
        }
        bytes.len()
    }

    fn arm64(&mut self, bytes: &mut [u8]) -> usize {
        let mut address = self.at as u32;
        let words = bytes.as_chunks_mut::<4>().0;
        for word in &mut *words {
            *word = arm64_word(u32::from_le_bytes(*word), address).to_le_bytes();
            address = address.wrapping_add(4);
        }
        words.len() * 4
    }

    /// Goes from opcode to opcode. Bytes close to each other may not be opcodes; the mask decides.
    fn x86(&mut self, bytes: &mut [u8]) -> usize {
        let Some(end) = bytes.len().checked_sub(X86_LENGTH - 1) else { return 0 };
        let mut at = 0;
        while at < end {
            if bytes[at] & 0xfe != 0xe8 {
                self.mask = self.mask << 1 & 7;
                at += 1;
            } else if self.x86_call(&mut bytes[at..at + X86_LENGTH], self.at + at as u64) {
                self.mask = 0;
                at += X86_LENGTH;
            } else {
                self.mask = (self.mask << 1 | 1) & 7;
                at += 1;
            }
        }
        at
    }

    /// Reverses the filter of one instruction. Returns false if the bytes are not an instruction.
    fn x86_call(&self, bytes: &mut [u8], address: u64) -> bool {
        let high = |byte: u8| byte == 0 || byte == 0xff;
        // After three candidates in a row, or candidates two and three bytes before, the bytes are not an instruction. If one candidate is
        // near, the byte of its operand is checked.
        let suspicious = match self.mask {
            0 => None,
            1 => Some(3),
            2 => Some(2),
            4 => Some(1),
            _ => return false,
        };
        if !high(bytes[4]) || suspicious.is_some_and(|index: usize| high(bytes[index])) {
            return false;
        }
        let here = (address as u32).wrapping_add(X86_LENGTH as u32);
        let mut target = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]).wrapping_sub(here);
        if let Some(index) = suspicious {
            let shift = 8 * (index as u32 - 1);
            // Two rounds are enough for the output of an encoder; more rounds are for invalid data.
            for _ in 0..ROUNDS {
                if !high((target >> shift) as u8) {
                    break;
                }
                target = (target ^ (0x100u32 << shift).wrapping_sub(1)).wrapping_sub(here);
            }
        }
        // The operand has 25 significant bits; the rest repeats the sign.
        target = (target & 0x01ff_ffff) | 0u32.wrapping_sub(target & 0x0100_0000);
        bytes[1..].copy_from_slice(&target.to_le_bytes());
        true
    }
}

/// Reverses the filter of a word of ARM64 code: a call, or the page of an address.
fn arm64_word(word: u32, address: u32) -> u32 {
    if word >> 26 == 0x25 {
        return 0x9400_0000 | (word.wrapping_sub(address >> 2) & 0x03ff_ffff);
    }
    if word & 0x9f00_0000 != 0x9000_0000 {
        return word;
    }
    let page = (word >> 29 & 3) | (word >> 3 & 0x001f_fffc);
    // The encoder converted only pages within 512 MiB.
    if page.wrapping_add(0x0002_0000) & 0x001c_0000 != 0 {
        return word;
    }
    let page = page.wrapping_sub(address >> 12);
    let sign = 0u32.wrapping_sub(page & 0x0002_0000) & 0x00e0_0000;
    (word & 0x9000_001f) | (page & 3) << 29 | (page & 0x0003_fffc) << 3 | sign
}

/// Bytes that [`Unfiltered`] processes at a time.
const PIECE: usize = 64 << 10;

/// Reads the data of `inner` with the filter reversed.
pub(super) struct Unfiltered<R> {
    inner: R,
    unfilter: Unfilter,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were returned.
    used: usize,
    /// Bytes of the buffer that are ready.
    done: usize,
    ended: bool,
}

impl<R: Read> Unfiltered<R> {
    pub(super) fn new(inner: R, filter: Filter) -> Unfiltered<R> {
        Unfiltered { inner, unfilter: Unfilter::new(filter), buffer: Vec::new(), used: 0, done: 0, ended: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.done);
        let kept = self.buffer.len();
        self.buffer.resize(PIECE, 0);
        let mut size = kept;
        while size < PIECE && !self.ended {
            let more = self.inner.read(&mut self.buffer[size..])?;
            self.ended = more == 0;
            size += more;
        }
        self.buffer.truncate(size);
        self.used = 0;
        self.done = self.unfilter.undo(&mut self.buffer, self.ended);
        Ok(())
    }
}

impl<R: Read> Read for Unfiltered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.done {
            self.refill()?;
        }
        let size = into.len().min(self.done - self.used);
        into[..size].copy_from_slice(&self.buffer[self.used..self.used + size]);
        self.used += size;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes, every second of which may be an opcode or the high byte of a target.
    fn code() -> Vec<u8> {
        let mut state = 1u32;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            [0xe8, 0xe9, 0, 0xff, (state >> 9) as u8, 0x94, 0x90, 0x10][state as usize >> 29]
        };
        (0..20_000).map(next).collect()
    }

    fn in_pieces(filter: Filter, bytes: &[u8], size: usize) -> Vec<u8> {
        let mut unfilter = Unfilter::new(filter);
        let mut out = Vec::new();
        let mut rest = Vec::new();
        for (index, piece) in bytes.chunks(size).enumerate() {
            rest.extend_from_slice(piece);
            let done = unfilter.undo(&mut rest, (index + 1) * size >= bytes.len());
            out.extend(rest.drain(..done));
        }
        out
    }

    #[test]
    fn any_pieces_give_the_same_result() {
        for filter in [Filter::X86, Filter::Arm64, Filter::Delta(1), Filter::Delta(3)] {
            let mut whole = code();
            assert_eq!(Unfilter::new(filter).undo(&mut whole, true), whole.len());
            assert_ne!(whole, code(), "{filter:?}");
            for size in [1, 4, 5, 7, 4096] {
                assert!(in_pieces(filter, &code(), size) == whole, "{filter:?} by {size}");
            }
        }
    }

    #[test]
    fn calls_become_relative() {
        let mut x86 = *b"\x90\x90\xe8\x10\x00\x00\x00\x90\x90\x90";
        Unfilter::new(Filter::X86).undo(&mut x86, true);
        assert_eq!(x86, *b"\x90\x90\xe8\x09\x00\x00\x00\x90\x90\x90");
        let mut arm = *b"\x1f\x20\x03\xd5\x05\x00\x00\x94";
        Unfilter::new(Filter::Arm64).undo(&mut arm, true);
        assert_eq!(arm, *b"\x1f\x20\x03\xd5\x04\x00\x00\x94");
    }
}
