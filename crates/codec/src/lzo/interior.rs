//! Decodes the part of a stream that is far from both ends. Only distances need a check there, and copies may write too much, because the
//! next instruction overwrites the excess.

use super::writer::{M1_FAR_FIRST, M3_MOST};

/// Maximum number of bytes of the stream that an instruction reads, with the literals after it.
const READ: usize = 40;
/// Maximum number of bytes that an instruction writes.
const WRITTEN: usize = 64;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DecodePosition {
    pub read: usize,
    pub written: usize,
    /// Number of preceding literals: 0 to 3 attached to a match, or 4 for a separate run.
    pub run: usize,
}

/// The match length of a tag; 0 if the tag alone does not determine it.
const LENGTHS: [u8; 256] = lengths();

const fn lengths() -> [u8; 256] {
    let mut all = [0; 256];
    let mut tag = 16;
    while tag < 256 {
        all[tag] = match tag {
            64.. => (tag as u8 >> 5) + 1,
            32.. if tag % 32 > 0 => tag as u8 % 32 + 2,
            16..32 if tag % 8 > 0 => tag as u8 % 8 + 2,
            _ => 0,
        };
        tag += 1;
    }
    all
}

/// Decodes while instructions are short and no end is near. Stops at the start of an instruction, also before a malformed one.
pub(super) fn decode(src: &[u8], dst: &mut [u8], mut reached: DecodePosition) -> DecodePosition {
    while src.len() - reached.read >= READ && dst.len() - reached.written >= WRITTEN {
        let DecodePosition { read, written, run } = reached;
        let tag = usize::from(src[read]);
        let pair = usize::from(u16::from_le_bytes([src[read + 1], src[read + 2]]));
        let length = usize::from(LENGTHS[tag]);
        if length == 0 {
            if tag >= 16 || (run == 0 && tag == 0) {
                return reached;
            }
            if run == 0 {
                let count = tag + 3;
                copy::<32>(src, read + 1, dst, written);
                reached = DecodePosition { read: read + 1 + count, written: written + count, run: 4 };
                continue;
            }
            let back = (tag >> 2) + ((pair & 0xff) << 2);
            let (length, distance) = if run < 4 { (2, 1 + back) } else { (3, M1_FAR_FIRST + back) };
            if distance > written {
                return reached;
            }
            repeat(dst, written, distance, length);
            reached = attached_literals(src, read + 2, dst, written + length, tag & 3);
            continue;
        }
        // The tag of the nearest matches holds bits of the distance and the literal count. For other matches the second byte holds them.
        let near = tag >= 64;
        let base = if tag >= 32 { 1 } else { M3_MOST + ((tag & 8) << 11) };
        let distance = if near { 1 + ((tag >> 2) & 7) + ((pair & 0xff) << 3) } else { base + (pair >> 2) };
        let (size, low) = if near { (2, tag) } else { (3, pair) };
        // The end mark has a distance that no match has.
        if distance > written || distance == M3_MOST && !near && tag < 32 {
            return reached;
        }
        repeat(dst, written, distance, length);
        reached = attached_literals(src, read + size, dst, written + length, low & 3);
    }
    reached
}

/// The literals attached to a match.
#[inline(always)]
fn attached_literals(src: &[u8], read: usize, dst: &mut [u8], written: usize, run: usize) -> DecodePosition {
    copy::<4>(src, read, dst, written);
    DecodePosition { read: read + run, written: written + run, run }
}

#[inline(always)]
fn copy<const SIZE: usize>(src: &[u8], from: usize, dst: &mut [u8], to: usize) {
    dst[to..to + SIZE].copy_from_slice(&src[from..from + SIZE]);
}

/// Copies a match of at most 33 bytes. [`WRITTEN`] bytes must fit.
#[inline(always)]
fn repeat(dst: &mut [u8], at: usize, distance: usize, length: usize) {
    let from = at - distance;
    if distance >= 16 {
        within::<16>(dst, from, at);
        if length > 16 {
            within::<16>(dst, from + 16, at + 16);
            within::<16>(dst, from + 32, at + 32);
        }
    } else if distance >= 8 {
        within::<8>(dst, from, at);
        for done in (8..length).step_by(8) {
            within::<8>(dst, from + done, at + done);
        }
    } else {
        for done in 0..length {
            dst[at + done] = dst[from + done];
        }
    }
}

#[inline(always)]
fn within<const SIZE: usize>(dst: &mut [u8], from: usize, to: usize) {
    let mut piece = [0; SIZE];
    piece.copy_from_slice(&dst[from..from + SIZE]);
    dst[to..to + SIZE].copy_from_slice(&piece);
}
