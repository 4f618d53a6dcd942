//! The fast encoder: one candidate for each hash of four bytes; the first match found is used.

use super::writer::{M4_MOST, Match, Writer};
use crate::bytes::{four, match_length};

/// Binary logarithm of the number of misses after which the search skips one more position per step.
const PATIENCE: u32 = 5;
/// Number of bytes at the end that are never searched.
const MARGIN: usize = 8;

pub(crate) struct Fast {
    table: Box<[u32]>,
    bits: u32,
}

impl Fast {
    /// An encoder with a table of `2^bits` positions.
    pub fn new(bits: u32) -> Fast {
        Fast { table: vec![0; 1 << bits].into_boxed_slice(), bits }
    }

    /// Memory of an encoder in bytes.
    pub fn memory(bits: u32) -> usize {
        4 << bits
    }

    /// Compresses `src` into `out`. `None` if the result does not fit.
    pub fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Option<usize> {
        self.table.fill(0);
        let mut out = Writer::new(out);
        let mut at = 1;
        let mut done = 0;
        let mut misses = 1 << PATIENCE;
        while at + MARGIN < src.len() {
            let now = four(src, at);
            let slot = &mut self.table[(now.wrapping_mul(0x9e37_79b1) >> (32 - self.bits)) as usize];
            let before = std::mem::replace(slot, at as u32) as usize;
            if at - before > M4_MOST || four(src, before) != now {
                at += misses >> PATIENCE;
                misses += 1;
                continue;
            }
            misses = 1 << PATIENCE;
            let mut start = at;
            let mut source = before;
            while start > done && source > 0 && src[start - 1] == src[source - 1] {
                start -= 1;
                source -= 1;
            }
            let length = match_length(src, before + 4, at + 4) + 4 + (at - start);
            out.step(&src[done..start], Match { length, distance: at - before })?;
            done = start + length;
            at = done;
        }
        out.finish(&src[done..])
    }
}
