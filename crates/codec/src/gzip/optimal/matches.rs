//! The matches at each position of a section.

use super::symbols::{DISTANCES, FARTHEST, LONGEST, SHORTEST, Step, distance_symbol};
use crate::CodecError;
use crate::bytes::{bounded_match_length, match_length};
use crate::search::longest::{COARSE, LongestFinder, Prefixes};

/// Largest average number of matches of a position. Most data have fewer than two. If there are more, only the longest one is kept at the
/// last positions.
const AVERAGE: usize = 6;
/// Maximum number of matches of a position: one for each symbol of a distance.
const MOST: usize = DISTANCES;
/// Matches of three bytes reach at most this far back in the quick path.
const NEAR: usize = 1 << 12;

const PREFIXES: Prefixes = Prefixes { shortest: SHORTEST, longest: LONGEST, unit: 32 };

#[derive(Default)]
pub(super) struct Matches {
    finder: LongestFinder,
    /// Index of each position's first match in `list`, and then the end of the last position's.
    starts: Vec<u32>,
    /// Matches of each position, from the longest to the shortest. The distance of each has a lower symbol than the one before.
    list: Vec<Step>,
    /// By position: whether the only match is one of [`LONGEST`] bytes that hardly any path shortens.
    inside: Vec<bool>,
}

impl Matches {
    /// Memory for sections of `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        LongestFinder::memory(size) + (AVERAGE * size + MOST) * size_of::<Step>() + (size + 1) * size_of::<u32>() + size
    }

    /// Finds the matches of a section after the window at its start.
    #[inline(never)]
    pub(super) fn find(&mut self, src: &[u8], window: usize) -> Result<(), CodecError> {
        let Matches { finder, starts, list, inside } = self;
        let size = src.len() - window;
        finder.build(src, PREFIXES)?;
        starts.clear();
        starts.reserve_exact(size + 1);
        list.clear();
        list.reserve_exact(AVERAGE * size + MOST);
        inside.clear();
        inside.resize(size, false);
        (0..window).for_each(|at| finder.visit_all(at, |_, _| {}));
        let mut at = window;
        while at < src.len() {
            let first = list.len();
            starts.push(first as u32);
            let mut least = usize::MAX;
            let has_space = list.len() + src.len() - at < AVERAGE * size;
            finder.visit_all(at, |length, from| {
                let distance = at - from;
                let symbol = distance_symbol(distance);
                if symbol < least && distance <= FARTHEST && (has_space || least == usize::MAX) {
                    least = symbol;
                    let more = || bounded_match_length(src, from + length, at + length, LONGEST - length);
                    let length = if length < COARSE { length } else { length + more() };
                    list.push(Step::found(length, symbol, distance));
                }
            });
            at += 1;
            let Some(&longest) = list.get(first).filter(|longest| longest.length() == LONGEST) else { continue };
            for at in at..at + unsearched(src, at, longest.distance()) {
                starts.push(list.len() as u32);
                list.push(longest);
                inside[at - window] = true;
            }
            at = window + starts.len();
        }
        starts.push(list.len() as u32);
        Ok(())
    }

    /// The matches of a position of the section, counted from the end of the window.
    #[inline(always)]
    pub(super) fn at(&self, at: usize) -> &[Step] {
        match self.starts[at..] {
            [start, end, ..] => &self.list[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The shortest length to which the nearest match of a position is shortened.
    #[inline(always)]
    pub(super) fn least(&self, at: usize) -> usize {
        if self.inside[at] { LONGEST } else { SHORTEST }
    }

    /// Takes the longest match, unless the next position has a longer one.
    pub(super) fn quick_path(&self, src: &[u8], steps: &mut Vec<Step>) {
        let mut at = 0;
        while let Some(&byte) = src.get(at) {
            let longest = |at: usize| self.at(at).first().copied();
            let found = longest(at).filter(|found| found.length() > SHORTEST || found.distance() < NEAR);
            let next = longest(at + 1).map_or(0, Step::length);
            let step = found.filter(|found| found.length() >= next).unwrap_or(Step::literal(byte));
            steps.push(step);
            at += step.bytes();
        }
    }
}

/// The number of positions from `at` on that are not searched, because they are inside a match at a short distance which is much longer than
/// [`LONGEST`]. The last positions of the match are searched. Their bytes are the bytes of all positions before them, so that later matches
/// are as near as if all positions were searched.
fn unsearched(src: &[u8], at: usize, distance: usize) -> usize {
    if distance > LONGEST {
        return 0;
    }
    match_length(src, at - distance, at).saturating_sub(2 * LONGEST + distance)
}
