//! Earlier positions with the same hash, the nearest first, for levels from 3 on.

use super::{BASE, FACTOR, FARTHEST, Match, end_of_matches};
use crate::bytes::{four, match_length};

/// Bits of hashes.
const BITS: u32 = 15;
/// Bytes that are hashed.
const HASHED: usize = 4;
/// Binary logarithm of the number of steps along a match, to a better chain, after which the steps get a byte longer.
const TRIES_BITS: u32 = 4;

pub(super) struct Chains {
    /// The last position with each hash.
    heads: Vec<u32>,
    /// Distances to the position before with the same hash, at the low bits of a position.
    links: Vec<u16>,
    /// Positions before this one are entered.
    entered: usize,
}

/// How matches are searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Most positions that are compared.
    pub(super) attempts: usize,
    /// Whether positions in a run of equal bytes are skipped.
    pub(super) skips_runs: bool,
    /// Whether the search continues with the chain of another position in the match, the one that leads farthest back.
    pub(super) changes_chains: bool,
}

/// Where a match is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The bytes from this position on are searched.
    pub(super) at: usize,
    /// The match may be longer at its start, from this position on.
    pub(super) lowest: usize,
    /// The match is longer than this.
    pub(super) known: usize,
}

impl Default for Chains {
    fn default() -> Chains {
        Chains { heads: vec![0; 1 << BITS], links: vec![0; BASE], entered: 0 }
    }
}

impl Chains {
    /// Memory of the tables.
    pub(super) const MEMORY: usize = (size_of::<u32>() << BITS) + size_of::<u16>() * BASE;

    pub(super) fn clear(&mut self) {
        self.heads.fill(0);
        self.links.fill(0);
        self.entered = 0;
    }

    /// Searches the longest match. Matches start before [`super::end_of_starts`].
    pub(super) fn longest(&mut self, src: &[u8], place: Place, effort: Effort) -> Option<Match> {
        self.enter(src, place.at);
        let index = self.heads[slot(src, place.at)] as usize;
        let mut walk = Walk::new(src, &self.links, place, index);
        for _ in 0..effort.attempts {
            if walk.index < walk.oldest {
                break;
            }
            walk.step(effort);
        }
        (walk.best.length > place.known).then_some(walk.best)
    }

    /// Enters all positions before one.
    fn enter(&mut self, src: &[u8], end: usize) {
        for at in self.entered..end {
            let index = at + BASE;
            let head = &mut self.heads[slot(src, at)];
            self.links[index % BASE] = (index - *head as usize).min(FARTHEST) as u16;
            *head = index as u32;
        }
        self.entered = self.entered.max(end);
    }
}

fn slot(src: &[u8], at: usize) -> usize {
    (four(src, at).wrapping_mul(FACTOR) >> (u32::BITS - BITS)) as usize
}

/// A walk through a chain.
struct Walk<'a> {
    src: &'a [u8],
    links: &'a [u16],
    place: Place,
    /// Matches are within `src` before this position.
    end: usize,
    /// The first four bytes.
    four: u32,
    /// The position that is compared next, [`BASE`] larger, as all indexes.
    index: usize,
    /// Indexes below this one are too far.
    oldest: usize,
    /// The chain is that of the position this much later.
    offset: usize,
    /// Number of equal bytes from the searched position on, once it is known; 0 if fewer than four.
    run: Option<usize>,
    best: Match,
}

impl<'a> Walk<'a> {
    fn new(src: &'a [u8], links: &'a [u16], place: Place, index: usize) -> Walk<'a> {
        Walk {
            src,
            links,
            place,
            end: end_of_matches(src),
            four: four(src, place.at),
            index,
            oldest: (place.at + BASE - FARTHEST).max(BASE),
            offset: 0,
            run: None,
            best: Match { start: place.at, length: place.known, distance: 0 },
        }
    }

    fn link(&self, index: usize) -> usize {
        usize::from(self.links[index % BASE])
    }

    /// Compares a position and goes to the next one.
    fn step(&mut self, effort: Effort) {
        let length = self.compare();
        if effort.changes_chains && length == self.best.length && self.change_chain() {
            return;
        }
        let may_be_run = effort.skips_runs && self.offset == 0 && self.link(self.index) == 1;
        if may_be_run && self.skip_run() {
            return;
        }
        self.index -= self.link(self.index + self.offset);
    }

    /// Compares a position. Returns the length of its match, or 0 if the match is shorter than the best one.
    fn compare(&mut self) -> usize {
        let Place { at, lowest, .. } = self.place;
        let from = self.index - BASE;
        // The bytes around the end of the best match differ in most cases.
        let last = self.best.length - 1;
        let there = from + last - (at - lowest);
        if self.src[lowest + last..][..2] != self.src[there..][..2] || four(self.src, from) != self.four {
            return 0;
        }
        let before = self.src[lowest..at].iter().rev().zip(self.src[..from].iter().rev());
        let back = before.take_while(|(one, other)| one == other).count();
        let length = back + match_length(&self.src[..self.end], from, at);
        if length > self.best.length {
            self.best = Match { start: at - back, length, distance: at - from };
        }
        length
    }

    /// Goes on with the chain of another position in the best match, if that leads farther back than one byte.
    fn change_chain(&mut self) -> bool {
        if self.index + self.best.length > self.place.at + BASE {
            return false;
        }
        let mut farthest = 1;
        let mut tries = 1 << TRIES_BITS;
        let mut offset = 0;
        while offset + HASHED <= self.best.length {
            let distance = self.link(self.index + offset);
            let step = tries >> TRIES_BITS;
            tries += 1;
            if distance > farthest {
                farthest = distance;
                self.offset = offset;
                tries = 1 << TRIES_BITS;
            }
            offset += step;
        }
        if farthest > 1 {
            self.index -= farthest;
        }
        farthest > 1
    }

    /// Skips positions in a run of the byte that the searched position repeats.
    fn skip_run(&mut self) -> bool {
        let run = self.run();
        let index = self.index - 1;
        if run == 0 || index < self.oldest || four(self.src, index - BASE) != self.four {
            return false;
        }
        let from = index - BASE;
        let forward = run_length(&self.src[..self.end], from);
        let before = self.src[self.oldest - BASE..from].iter().rev();
        let back = before.take_while(|byte| **byte == self.src[from]).count();
        if back + forward >= run && forward <= run {
            // The end of both runs is the same.
            self.index = index + forward - run;
            return true;
        }
        self.index = index - back;
        if self.place.lowest == self.place.at {
            let length = run.min(back + forward);
            if length > self.best.length {
                let distance = self.place.at + BASE - self.index;
                self.best = Match { start: self.place.at, length, distance };
            }
            self.index -= self.link(self.index);
        }
        true
    }

    /// Number of equal bytes from the searched position on; 0 if fewer than four.
    fn run(&mut self) -> usize {
        let is_run = self.four == self.four.rotate_left(8);
        let Walk { src, end, place, .. } = *self;
        *self.run.get_or_insert_with(|| if is_run { run_length(&src[..end], place.at) } else { 0 })
    }
}

/// Number of equal bytes from a position on.
fn run_length(src: &[u8], at: usize) -> usize {
    1 + match_length(src, at, at + 1)
}
