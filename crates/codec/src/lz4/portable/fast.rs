//! Without `hc`: one earlier position for each hash. The steps get longer while nothing is found.

use super::super::writer::{LAST_START, more_bytes};
use super::{FACTOR, FARTHEST, Match, Output, end_of_matches, end_of_starts};
use crate::CodecError;
use crate::bytes::{eight, four, match_length};
use crate::traits::Compressor;

/// Blocks of fewer bytes have a table with more entries, and hashes of four bytes instead of five.
const LARGE: usize = (1 << 16) + LAST_START - 1;
/// Bits of hashes in blocks that are not large.
const SMALL_BITS: u32 = 13;
/// Bits of hashes in large blocks.
const LARGE_BITS: u32 = 12;
/// The factor of hashes of five bytes.
const FACTOR_OF_FIVE: u64 = 889_523_592_379;
/// Binary logarithm of the number of steps after which the steps get a byte longer.
const TRIES_BITS: u32 = 6;

/// Memory of the table.
pub(super) const MEMORY: usize = size_of::<u32>() << SMALL_BITS;

pub(super) struct Fast {
    acceleration: usize,
    table: Vec<u32>,
}

impl Fast {
    pub(super) fn new(acceleration: u32) -> Fast {
        Fast { acceleration: acceleration as usize, table: vec![0; 1 << SMALL_BITS] }
    }
}

impl Compressor for Fast {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.table.fill(0);
        let output = Output::new(src, out, more_bytes);
        if src.len() <= LAST_START {
            return Ok(output.finish());
        }
        let search = Search { src, table: &mut self.table, acceleration: self.acceleration };
        Ok(search.encode(output))
    }
}

struct Search<'a> {
    src: &'a [u8],
    /// The last position with each hash.
    table: &'a mut [u32],
    acceleration: usize,
}

impl Search<'_> {
    fn encode(mut self, mut output: Output) -> Option<usize> {
        self.replace(0);
        let mut at = 1;
        while let Some(found) = self.next(at) {
            let mut next = Some(self.widen(found, output.written));
            while let Some(found) = next {
                output.sequence(found)?;
                at = found.end();
                if at >= end_of_starts(self.src) {
                    return output.finish();
                }
                self.replace(at - 2);
                next = self.visit(at);
            }
            at += 1;
        }
        output.finish()
    }

    /// The next match that starts at or after a position.
    fn next(&mut self, mut at: usize) -> Option<Match> {
        let mut tries = self.acceleration << TRIES_BITS;
        let mut after = at + 1;
        while after <= end_of_starts(self.src) {
            if let Some(found) = self.visit(at) {
                return Some(found);
            }
            at = after;
            after += tries >> TRIES_BITS;
            tries += 1;
        }
        None
    }

    /// The match at a position, which is entered into the table.
    fn visit(&mut self, at: usize) -> Option<Match> {
        let from = self.replace(at);
        let is_match = from + FARTHEST >= at && four(self.src, from) == four(self.src, at);
        is_match.then(|| Match {
            start: at,
            length: match_length(&self.src[..end_of_matches(self.src)], from, at),
            distance: at - from,
        })
    }

    /// Lets a match start earlier, but not before `lowest`.
    fn widen(&self, mut found: Match, lowest: usize) -> Match {
        let Match { start, distance, .. } = found;
        let before = self.src[lowest..start].iter().rev();
        let back =
            before.zip(self.src[..start - distance].iter().rev()).take_while(|(one, other)| one == other).count();
        found.start -= back;
        found.length += back;
        found
    }

    /// Enters a position into the table. Returns the last position with the same hash, or 0.
    fn replace(&mut self, at: usize) -> usize {
        let slot = if self.src.len() < LARGE {
            (four(self.src, at).wrapping_mul(FACTOR) >> (u32::BITS - SMALL_BITS)) as usize
        } else {
            ((eight(self.src, at) << 24).wrapping_mul(FACTOR_OF_FIVE) >> (u64::BITS - LARGE_BITS)) as usize
        };
        std::mem::replace(&mut self.table[slot], at as u32) as usize
    }
}
