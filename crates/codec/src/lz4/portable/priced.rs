//! Level 10: the cheapest way through the matches of a stretch of the block.

use super::super::writer::{SHORTEST_MATCH, more_bytes};
use super::chains::{Chains, Effort, Place};
use super::{Match, Output, end_of_starts};
use crate::CodecError;
use crate::traits::Compressor;

const EFFORT: Effort = Effort { attempts: 96, skips_runs: true, changes_chains: true };
/// A longer match is used at once.
const ENOUGH: usize = 64;
/// Most bytes of a stretch.
const LONGEST: usize = 1 << 12;
/// Literals after a stretch whose costs are computed, too.
const TRAILING: usize = 3;

/// Memory of the steps.
pub(super) const MEMORY: usize = size_of::<Step>() * (LONGEST + TRAILING);

/// How a position of a stretch is reached.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    /// Bytes up to here.
    cost: usize,
    /// Length of the match that ends here; 1 for a literal.
    length: usize,
    /// The match's distance.
    distance: usize,
    /// Literals up to here, or before the match.
    literals: usize,
}

pub(super) struct Priced {
    chains: Chains,
    steps: Vec<Step>,
}

/// The last match of a stretch, or its last literal.
struct Last {
    /// Where it starts in the stretch.
    start: usize,
    length: usize,
    distance: usize,
    /// Steps are taken before this position.
    end: usize,
}

impl Default for Priced {
    fn default() -> Priced {
        Priced { chains: Chains::default(), steps: vec![Step::default(); LONGEST + TRAILING] }
    }
}

impl Compressor for Priced {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.chains.clear();
        Ok(self.encode(src, Output::of_hc(src, out)))
    }
}

impl Priced {
    fn encode(&mut self, src: &[u8], mut output: Output) -> Option<usize> {
        let mut at = 0;
        while at < end_of_starts(src) {
            match self.longer(src, at, SHORTEST_MATCH - 1) {
                None => at += 1,
                Some(found) if found.length > ENOUGH => {
                    output.sequence(found)?;
                    at = found.end();
                }
                Some(found) => {
                    let last = self.choose(src, found, at - output.written);
                    at = self.write(at, &last, &mut output)?;
                }
            }
        }
        output.finish()
    }

    /// A match at a position that is longer than `known`.
    fn longer(&mut self, src: &[u8], at: usize, known: usize) -> Option<Match> {
        self.chains.longest(src, Place { at, lowest: at, known }, EFFORT)
    }

    /// Computes the cheapest steps of the stretch that starts with a match, after some literals.
    fn choose(&mut self, src: &[u8], first: Match, literals: usize) -> Last {
        self.start(&first, literals);
        let mut end = first.length;
        self.end_with_literals(end);
        let mut here = 1;
        while here < end && first.start + here < end_of_starts(src) {
            let is_dearer = self.steps[here + 1].cost > self.steps[here].cost;
            let found = if is_dearer { self.longer(src, first.start + here, end - here) } else { None };
            if let Some(Match { length, distance, .. }) = found {
                if length > ENOUGH || length + here >= LONGEST {
                    return Last { start: here, length, distance, end: here + 1 };
                }
                self.add_literals(here);
                end = self.add_match(here, length, distance, end);
                self.end_with_literals(end);
            }
            here += 1;
        }
        let Step { length, distance, .. } = self.steps[end];
        Last { start: end - length, length, distance, end }
    }

    /// Sets the first steps: literals, and the first match.
    fn start(&mut self, first: &Match, literals: usize) {
        for at in 0..SHORTEST_MATCH {
            let literals = literals + at;
            self.steps[at] = Step { cost: literals_cost(literals), length: 1, distance: 0, literals };
        }
        for length in SHORTEST_MATCH..=first.length {
            let cost = sequence_cost(literals, length);
            self.steps[length] = Step { cost, length, distance: first.distance, literals };
        }
    }

    /// Sets the steps after the last one to literals.
    fn end_with_literals(&mut self, end: usize) {
        for literals in 1..=TRAILING {
            let cost = self.steps[end].cost + literals_cost(literals);
            self.steps[end + literals] = Step { cost, length: 1, distance: 0, literals };
        }
    }

    /// Sets steps after a position to literals where these are cheaper.
    fn add_literals(&mut self, here: usize) {
        let Step { cost, literals, .. } = self.steps[here];
        for more in 1..SHORTEST_MATCH {
            let cost = cost + literals_cost(literals + more) - literals_cost(literals);
            if cost < self.steps[here + more].cost {
                self.steps[here + more] = Step { cost, length: 1, distance: 0, literals: literals + more };
            }
        }
    }

    /// Sets steps after a position to parts of a match where these are cheaper. Returns the new end.
    fn add_match(&mut self, here: usize, longest: usize, distance: usize, end: usize) -> usize {
        let step = self.steps[here];
        let (literals, before) = match step.length {
            1 if here > step.literals => (step.literals, self.steps[here - step.literals].cost),
            1 => (step.literals, 0),
            _ => (0, step.cost),
        };
        let mut new_end = end;
        for length in SHORTEST_MATCH..=longest {
            let at = here + length;
            let cost = before + sequence_cost(literals, length);
            if at > end + TRAILING || cost <= self.steps[at].cost {
                self.steps[at] = Step { cost, length, distance, literals };
                if length == longest {
                    new_end = end.max(at);
                }
            }
        }
        new_end
    }

    /// Writes the steps of a stretch that starts at `start`. Returns the position after the stretch.
    fn write(&mut self, start: usize, last: &Last, output: &mut Output) -> Option<usize> {
        // Each step is at its end. They are moved to their starts, from the last one on.
        let mut at = last.start;
        let mut moved = (last.length, last.distance);
        loop {
            let step = &mut self.steps[at];
            let before = (step.length, step.distance);
            (step.length, step.distance) = moved;
            moved = before;
            let Some(next) = at.checked_sub(before.0) else { break };
            at = next;
        }
        let mut at = 0;
        while at < last.end {
            let Step { length, distance, .. } = self.steps[at];
            if length > 1 {
                output.sequence(Match { start: start + at, length, distance })?;
            }
            at += length;
        }
        Some(start + at)
    }
}

/// Bytes of literals, and of their number after the token.
fn literals_cost(literals: usize) -> usize {
    literals + more_bytes(literals)
}

/// Bytes of a token, literals and a match.
fn sequence_cost(literals: usize, length: usize) -> usize {
    1 + literals_cost(literals) + 2 + more_bytes(length - SHORTEST_MATCH)
}
