//! The matches at each position of a section.

use super::symbols::{DISTANCES, FARTHEST, LONGEST, SHORTEST, Step, distance_symbol};
use crate::CodecError;
use crate::bytes::bounded_match_length;
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
}

impl Matches {
    /// Memory for sections of `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        LongestFinder::memory(size) + (size + 1) * size_of::<u32>() + (AVERAGE * size + MOST) * size_of::<Step>()
    }

    /// Finds the matches of a section after the window at its start.
    #[inline(never)]
    pub(super) fn find(&mut self, src: &[u8], window: usize) -> Result<(), CodecError> {
        let Matches { finder, starts, list } = self;
        let size = src.len() - window;
        finder.build(src, PREFIXES)?;
        starts.clear();
        starts.reserve_exact(size + 1);
        list.clear();
        list.reserve_exact(AVERAGE * size + MOST);
        (0..window).for_each(|at| finder.visit_all(at, |_, _| {}));
        for at in window..src.len() {
            starts.push(list.len() as u32);
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
