//! Levels 3 to 9: a match is written once longer ones near its end have been searched. Up to three matches that overlap are kept.

use super::super::writer::{LAST_START, SHORT_MATCH, SHORTEST_MATCH};
use super::chains::{Chains, Effort, Place};
use super::{Match, Output, end_of_starts};
use crate::CodecError;
use crate::traits::Compressor;

/// A first match is given up if the next one starts fewer bytes after it.
const NEAR: usize = 3;
/// Levels with more attempts skip runs.
const MANY: usize = 128;

pub(super) struct Lazy {
    chains: Chains,
    effort: Effort,
}

impl Lazy {
    pub(super) fn new(level: u32) -> Lazy {
        let attempts = 1 << (level - 1);
        let effort = Effort { attempts, skips_runs: attempts > MANY, changes_chains: false };
        Lazy { chains: Chains::default(), effort }
    }
}

impl Compressor for Lazy {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.chains.clear();
        let output = Output::of_hc(src, out);
        Ok(Parser { src, chains: &mut self.chains, effort: self.effort, output }.encode())
    }
}

struct Parser<'a> {
    src: &'a [u8],
    chains: &'a mut Chains,
    effort: Effort,
    output: Output<'a>,
}

/// What follows after matches were written.
enum Next {
    /// A search at a position.
    Search(usize),
    /// A search at the end of a match. The other match may be used instead, as for [`Parser::pair`].
    Pair { first: Match, one: Match },
}

impl Parser<'_> {
    fn encode(mut self) -> Option<usize> {
        let mut at = 0;
        while self.src.len() > LAST_START && at < end_of_starts(self.src) {
            let place = Place { at, lowest: at, known: SHORTEST_MATCH - 1 };
            match self.chains.longest(self.src, place, self.effort) {
                Some(found) => at = self.pair(found)?,
                None => at += 1,
            }
        }
        self.output.finish()
    }

    /// Writes matches from a first one on. Returns the position of the next search.
    fn pair(&mut self, found: Match) -> Option<usize> {
        // The first match is used after all if the one after its successor leaves room for it.
        let mut first = found;
        let mut one = found;
        loop {
            let Some(two) = self.longer(one, 2) else {
                self.output.sequence(one)?;
                return Some(one.end());
            };
            if first.start < one.start && two.start < one.start + first.length {
                one = first;
            }
            if two.start - one.start < NEAR {
                one = two;
                continue;
            }
            match self.triple(one, two)? {
                Next::Search(at) => return Some(at),
                Next::Pair { first: before, one: next } => (first, one) = (before, next),
            }
        }
    }

    /// Writes matches, of which two are found.
    fn triple(&mut self, mut one: Match, mut two: Match) -> Option<Next> {
        loop {
            if two.start - one.start < SHORT_MATCH {
                two.skip((one.start + kept(&one, &two)).saturating_sub(two.start));
            }
            let Some(three) = self.longer(two, 3) else {
                one.length = one.length.min(two.start - one.start);
                self.output.sequence(one)?;
                self.output.sequence(two)?;
                return Some(Next::Search(two.end()));
            };
            if three.start < one.end() {
                two = three;
                continue;
            }
            if three.start < one.end() + NEAR {
                two.skip(one.end().saturating_sub(two.start));
                if two.length < SHORTEST_MATCH {
                    two = three;
                }
                self.output.sequence(one)?;
                return Some(Next::Pair { first: two, one: three });
            }
            if two.start < one.end() {
                let gap = two.start - one.start;
                one.length = if gap < SHORT_MATCH { kept(&one, &two) } else { gap };
                two.skip(one.end().saturating_sub(two.start));
            }
            self.output.sequence(one)?;
            one = two;
            two = three;
        }
    }

    /// A longer match that is found some bytes before the end of one.
    fn longer(&mut self, one: Match, overlap: usize) -> Option<Match> {
        if one.end() >= end_of_starts(self.src) {
            return None;
        }
        let place = Place { at: one.end() - overlap, lowest: one.start, known: one.length };
        self.chains.longest(self.src, place, self.effort)
    }
}

/// The length that the first of two matches keeps where the second one covers it, too.
fn kept(one: &Match, two: &Match) -> usize {
    one.length.min(SHORT_MATCH).min(two.end() - SHORTEST_MATCH - one.start)
}
