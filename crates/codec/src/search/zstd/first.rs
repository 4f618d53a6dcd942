//! The first parse, by a rule of thumb: a match is used unless the next position has a clearly better one. The only result is the
//! statistics from which the first prices are computed.

use super::codes::{Repeats, SHORTEST, Sequence};
use crate::bytes::{bounded_match_length, eight};
use crate::search::candidates::{Candidate, LONGEST, Matches};

/// A match and its worth: four per byte, less the bits of its distance.
#[derive(Clone, Copy)]
struct Choice {
    value: i32,
    length: usize,
    distance: u32,
}

const NONE: Choice = Choice { value: 0, length: 0, distance: 0 };
/// The match at the next position must be worth this much more.
const BETTER: i32 = 4;

/// Parses the chunk that starts at `start` and has `size` bytes. `repeats` are the distances before it.
#[inline(never)]
pub(super) fn parse(src: &[u8], start: usize, size: usize, found: Matches, repeats: Repeats, out: &mut Vec<Sequence>) {
    out.clear();
    let [mut repeat, ..] = repeats.distances();
    let mut at = 0;
    let mut done = 0;
    while at < size {
        let mut choice = choose(src, start, at, size, found, repeat);
        while choice.value > 0 && at + 1 < size {
            let next = choose(src, start, at + 1, size, found, repeat);
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

/// The best match at a position of the chunk.
#[inline(always)]
fn choose(src: &[u8], start: usize, at: usize, size: usize, found: Matches, repeat: u32) -> Choice {
    let rest = size - at;
    let mut best = repeated(src, start + at, rest, repeat);
    let mut weigh = |candidate: Candidate| {
        let length = candidate.length().min(rest);
        let distance = candidate.distance();
        let value = length as i32 * 4 - distance.ilog2() as i32;
        if length >= SHORTEST && value > best.value {
            best = Choice { value, length, distance };
        }
    };
    if found.continued(at).length() > 0 {
        weigh(found.continued(at));
    }
    found.at(at).iter().copied().for_each(weigh);
    best
}

fn repeated(src: &[u8], at: usize, rest: usize, repeat: u32) -> Choice {
    let distance = repeat as usize;
    if distance > at || at + 8 > src.len() || (eight(src, at) ^ eight(src, at - distance)) as u32 & 0xff_ffff != 0 {
        return NONE;
    }
    let length = bounded_match_length(src, at - distance, at, rest.min(LONGEST));
    if length < SHORTEST { NONE } else { Choice { value: length as i32 * 4 - 1, length, distance: repeat } }
}
