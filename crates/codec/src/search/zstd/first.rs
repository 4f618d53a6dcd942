//! The first parse, by a rule of thumb: a match is used unless the next position has a clearly better one. The only result is the
//! statistics from which the first prices are computed. One path hardly leaves the surroundings of these statistics, so that a better rule
//! makes the result up to half a percent smaller.

use super::codes::{Repeats, SHORTEST, Sequence};
use crate::bytes::{bounded_match_length, eight};
use crate::search::candidates::{Candidate, LONGEST, Matches};
use crate::search::log::{BIT, log2};

/// A match and its worth in bits: the worth of its bytes, less the bits of its distance.
#[derive(Clone, Copy)]
struct Choice {
    value: i32,
    length: usize,
    distance: u32,
}

const NONE: Choice = Choice { value: 0, length: 0, distance: 0 };
/// The match at the next position must be worth this much more.
const BETTER: i32 = 6;

/// The worth of a byte of a match is this many 16ths of the entropy of a byte of the chunk.
const SHARE: u64 = 11;
/// What a repeated distance is worth, in bits.
const REPEATED: i32 = 5;
/// The least worth of a byte, in 16ths of a bit. With less, short matches of text with few different bytes, such as numbers, are never
/// used, and the next parse does not find them either.
const LEAST: i32 = 56;

/// The chunk of `src` that starts at `start` and has `size` bytes.
struct Chunk<'a> {
    src: &'a [u8],
    start: usize,
    size: usize,
    found: Matches<'a>,
    /// The worth of a byte of a match, in 16ths of a bit.
    worth: i32,
}

/// Parses the chunk that starts at `start` and has `size` bytes. `repeats` are the distances before it.
#[inline(never)]
pub(super) fn parse(src: &[u8], start: usize, size: usize, found: Matches, repeats: Repeats, out: &mut Vec<Sequence>) {
    out.clear();
    let chunk = Chunk { src, start, size, found, worth: worth_of_byte(&src[start..start + size]) };
    let [mut repeat, ..] = repeats.distances();
    let mut at = 0;
    let mut done = 0;
    while at < size {
        let mut choice = chunk.choose(at, repeat);
        while choice.value > 0 && at + 1 < size {
            let next = chunk.choose(at + 1, repeat);
            if next.value <= choice.value + BETTER {
                break;
            }
            choice = next;
            at += 1;
        }
        if choice.length < SHORTEST {
            at += 1;
            continue;
        }
        let Choice { length, distance, .. } = choice;
        out.push(Sequence { literals: (at - done) as u32, length: length as u32, distance });
        repeat = distance;
        at += length;
        done = at;
    }
}

/// The worth of a byte of a match, in 16ths of a bit: literals of text are cheaper than literals of programs.
fn worth_of_byte(chunk: &[u8]) -> i32 {
    let mut counts = [0; 256];
    chunk.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let total = log2(chunk.len() as u32);
    let bits: u64 = counts.iter().map(|&count| u64::from(count) * u64::from(total - log2(count))).sum();
    let worth = bits * SHARE / (chunk.len() as u64 * u64::from(BIT)).max(1);
    LEAST.max(worth as i32)
}

impl Chunk<'_> {
    /// The best match at a position.
    #[inline(always)]
    fn choose(&self, at: usize, repeat: u32) -> Choice {
        let rest = self.size - at;
        let mut best = self.repeated(at, repeat);
        let mut weigh = |candidate: Candidate| {
            let length = candidate.length().min(rest);
            let distance = candidate.distance();
            let value = self.worth_of(length) - distance.ilog2() as i32;
            if length >= SHORTEST && value > best.value {
                best = Choice { value, length, distance };
            }
        };
        if self.found.continued(at).length() > 0 {
            weigh(self.found.continued(at));
        }
        self.found.at(at).iter().copied().for_each(weigh);
        best
    }

    /// The match at the last distance.
    #[inline(always)]
    fn repeated(&self, at: usize, repeat: u32) -> Choice {
        let rest = self.size - at;
        let src = self.src;
        let at = self.start + at;
        let distance = repeat as usize;
        if distance > at || at + 8 > src.len() || (eight(src, at) ^ eight(src, at - distance)) as u32 & 0xff_ffff != 0 {
            return NONE;
        }
        let length = bounded_match_length(src, at - distance, at, rest.min(LONGEST));
        if length < SHORTEST {
            return NONE;
        }
        Choice { value: self.worth_of(length) + REPEATED, length, distance: repeat }
    }

    /// The worth of the bytes of a match.
    #[inline(always)]
    fn worth_of(&self, length: usize) -> i32 {
        (length as i32 * self.worth) >> 4
    }
}
