//! The optimal encoder: finds the shortest encoding of a block, from the longest match at each position.
//!
//! Matches of all distances have the same price. Only the longest match at a position therefore matters. A shorter part of the match is
//! better only if its length takes a byte less. The costs from each position to the end are computed with these steps and with a literal.
//! Only the best run of literals from each position is kept. Another one may be better after more literals, which is rare.

use super::writer::{LAST_LITERALS, LAST_START, SHORT_MATCH, SHORT_RUN, SHORTEST_MATCH as SHORTEST, STEP, Writer};
use crate::CodecError;
use crate::bytes::bounded_match_length;
use crate::search::longest::{Earlier, LONGEST as SEARCHED, LongestFinder, Prefixes};
use crate::traits::Compressor;

/// Largest distance, bytes.
const FARTHEST: usize = (1 << 16) - 1;
/// A match of at least this length is used without a search inside it.
const NICE: usize = SEARCHED;
/// Longest match, bytes. The format has no limit.
const LONGEST: usize = (1 << 16) - 1;
/// Largest section, bytes, with its window.
const SECTION: usize = 1 << 18;

const PREFIXES: Prefixes = Prefixes { shortest: SHORTEST, longest: SEARCHED, unit: 1 };

/// A match in one number: its length in the high bits, its distance in the low bits; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found(u32);

#[derive(Default)]
pub(super) struct Optimal {
    finder: LongestFinder,
    /// The longest match at each position of a section, then the step that the shortest encoding takes there.
    found: Vec<Found>,
    /// Bytes from each position to the end of the section.
    costs: Vec<u32>,
}

/// A part of a block that is searched at once.
struct Section<'a> {
    src: &'a [u8],
    /// Bytes at the start of `src` that only serve as a window.
    window: usize,
    /// Matches start before this position.
    last_start: usize,
    /// Matches end before or at this position.
    end: usize,
}

impl<'a> Section<'a> {
    /// The section of a block whose first position is `at`.
    fn new(block: &'a [u8], at: usize) -> Section<'a> {
        let window = at.min(FARTHEST);
        let rest = &block[at - window..];
        let src = &rest[..rest.len().min(SECTION)];
        Section {
            src,
            window,
            last_start: src.len().min((rest.len() + 1).saturating_sub(LAST_START)),
            end: src.len().min(rest.len().saturating_sub(LAST_LITERALS)),
        }
    }
}

impl Found {
    fn new(length: usize, distance: usize) -> Found {
        Found((length << 16 | distance) as u32)
    }

    fn length(self) -> usize {
        (self.0 >> 16) as usize
    }

    fn distance(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}

impl Optimal {
    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        let size = size.min(SECTION);
        LongestFinder::memory(size) + (2 * size + 1) * size_of::<u32>()
    }

    /// Finds the matches at the positions of a section from its window on.
    fn find(&mut self, section: &Section) -> Result<(), CodecError> {
        self.finder.build(section.src, PREFIXES)?;
        self.found.clear();
        self.found.reserve_exact(section.src.len() - section.window);
        self.found.resize(section.src.len() - section.window, Found(0));
        let mut next = section.window;
        for at in 0..section.last_start {
            if at < next {
                self.finder.visit(at, FARTHEST);
                continue;
            }
            let found = self.longest(section, at);
            self.found[at - section.window] = found;
            if found.length() >= NICE {
                next = at + found.length();
            }
        }
        Ok(())
    }

    /// The longest match at a position.
    #[inline(always)]
    fn longest(&mut self, section: &Section, at: usize) -> Found {
        let Earlier { length: mut known, from } = self.finder.visit(at, FARTHEST);
        if known == SEARCHED {
            known += bounded_match_length(section.src, from + known, at + known, LONGEST - known);
        }
        let length = known.min(section.end - at);
        if length < SHORTEST { Found(0) } else { Found::new(length, at - from) }
    }

    /// Chooses the step at each position.
    fn choose(&mut self) {
        let Optimal { found, costs, .. } = self;
        costs.clear();
        costs.reserve_exact(found.len() + 1);
        costs.resize(found.len() + 1, 0);
        let mut run = 0;
        // The number of literals in the run at which the run takes one byte more.
        let mut longer = SHORT_RUN + 1;
        for (at, found) in found.iter_mut().enumerate().rev() {
            run += 1;
            let literal = costs[at + 1] + 1 + u32::from(run == longer);
            let (taken, cost) = cheapest(*found, &costs[at..]);
            if cost <= literal {
                *found = Found::new(taken, found.distance());
                costs[at] = cost;
                run = 0;
                longer = SHORT_RUN + 1;
                continue;
            }
            if run == longer {
                longer += STEP;
            }
            *found = Found(0);
            costs[at] = literal;
        }
    }
}

/// The best length of a match and its cost. `ahead` has the costs from the match's position on.
#[inline(always)]
fn cheapest(found: Found, ahead: &[u32]) -> (usize, u32) {
    let length = found.length();
    if length < SHORTEST {
        return (0, u32::MAX);
    }
    if length <= SHORT_MATCH {
        return (length, ahead[length] + 3);
    }
    let extra = (length - SHORT_MATCH - 1) / STEP;
    let shorter = SHORT_MATCH + STEP * extra;
    let short_cost = ahead[shorter] + 3 + extra as u32;
    let cost = ahead[length] + 4 + extra as u32;
    if cost <= short_cost { (length, cost) } else { (shorter, short_cost) }
}

impl Compressor for Optimal {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut writer = Writer::new(out);
        let last_start = (src.len() + 1).saturating_sub(LAST_START);
        let mut at = 0;
        let mut written = 0;
        while at < last_start {
            let section = Section::new(src, at);
            self.find(&section)?;
            self.choose();
            let start = at;
            while let Some(found) = self.found.get(at - start) {
                let length = found.length();
                if length > 0 {
                    let Some(()) = writer.sequence(&src[written..at], length, found.distance()) else {
                        return Ok(None);
                    };
                    written = at + length;
                }
                at += length.max(1);
            }
        }
        Ok(writer.finish(&src[written..]))
    }
}
