//! Levels 1 and 2: the last position with the same four bytes, and the last one with the same seven.

use super::super::writer::{LAST_START, SHORTEST_MATCH};
use super::{BASE, FACTOR, FARTHEST, Match, Output, end_of_matches, end_of_starts};
use crate::CodecError;
use crate::bytes::{eight, four, match_length};
use crate::traits::Compressor;

/// Bits of hashes.
const BITS: u32 = 14;
/// The factor of hashes of seven bytes.
const FACTOR_OF_SEVEN: u64 = 58_295_818_150_454_627;
/// Bytes that are read for a hash of seven bytes.
const WORD: usize = 8;
/// Binary logarithm of the number of literals after which the steps get a byte longer.
const LITERALS_BITS: u32 = 9;

/// Memory of the tables.
pub(super) const MEMORY: usize = 2 * (size_of::<u32>() << BITS);

pub(super) struct Middle {
    short: Vec<u32>,
    long: Vec<u32>,
}

impl Default for Middle {
    fn default() -> Middle {
        Middle { short: vec![0; 1 << BITS], long: vec![0; 1 << BITS] }
    }
}

impl Compressor for Middle {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.short.fill(0);
        self.long.fill(0);
        let output = Output::of_hc(src, out);
        Ok(Search { src, tables: self }.encode(output))
    }
}

struct Search<'a> {
    src: &'a [u8],
    tables: &'a mut Middle,
}

impl Search<'_> {
    fn encode(mut self, mut output: Output) -> Option<usize> {
        let mut at = 0;
        while self.src.len() > LAST_START && at < end_of_starts(self.src) {
            let Some(mut found) = self.find(at) else {
                at += 1 + ((at - output.written) >> LITERALS_BITS);
                continue;
            };
            while found.start > output.written && self.continues_before(&found) {
                found.start -= 1;
                found.length += 1;
            }
            self.enter_start(found.start, at);
            output.sequence(found)?;
            at = found.end();
            self.enter_end(at);
        }
        output.finish()
    }

    /// The match at a position, or at the one after it.
    fn find(&mut self, at: usize) -> Option<Match> {
        let from = self.long(at, at);
        if let Some(found) = self.matched(from, at) {
            return Some(found);
        }
        let from = self.short(at, at);
        let found = self.matched(from, at)?;
        let after = at + 1;
        let from = self.tables.long[self.long_slot(after)] as usize;
        let longer = if after < end_of_starts(self.src) { self.matched(from, after) } else { None };
        let Some(longer) = longer.filter(|longer| longer.length > found.length) else { return Some(found) };
        self.long(after, after);
        Some(longer)
    }

    /// The match from an entry of a table to a position.
    fn matched(&self, entry: usize, at: usize) -> Option<Match> {
        let distance = at + BASE - entry;
        if distance > FARTHEST {
            return None;
        }
        let length = match_length(&self.src[..end_of_matches(self.src)], at - distance, at);
        (length >= SHORTEST_MATCH).then_some(Match { start: at, length, distance })
    }

    fn continues_before(&self, found: &Match) -> bool {
        found.start > found.distance && self.src[found.start - 1] == self.src[found.start - found.distance - 1]
    }

    /// Enters positions after the start of a match. The library takes the numbers that follow the position of the search, even if the
    /// match starts elsewhere.
    fn enter_start(&mut self, start: usize, searched: usize) {
        self.long(start + 1, searched + 1);
        self.long(start + 2, searched + 2);
        self.short(start + 1, searched + 1);
    }

    /// Enters positions before the end of a match.
    fn enter_end(&mut self, end: usize) {
        if end - 2 + WORD >= self.src.len() {
            return;
        }
        if end > 5 {
            self.long(end - 5, end - 5);
        }
        self.long(end - 3, end - 3);
        self.long(end - 2, end - 2);
        self.short(end - 2, end - 2);
        self.short(end - 1, end - 1);
    }

    fn long_slot(&self, at: usize) -> usize {
        ((eight(self.src, at) << 8).wrapping_mul(FACTOR_OF_SEVEN) >> (u64::BITS - BITS)) as usize
    }

    /// Enters a position under the hash of the seven bytes at `at`. Returns the entry before.
    fn long(&mut self, at: usize, position: usize) -> usize {
        let slot = self.long_slot(at);
        std::mem::replace(&mut self.tables.long[slot], (position + BASE) as u32) as usize
    }

    /// Enters a position under the hash of the four bytes at `at`. Returns the entry before.
    fn short(&mut self, at: usize, position: usize) -> usize {
        let slot = four(self.src, at).wrapping_mul(FACTOR) >> (u32::BITS - BITS);
        std::mem::replace(&mut self.tables.short[slot as usize], (position + BASE) as u32) as usize
    }
}
