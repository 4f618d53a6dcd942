//! The cheapest path through a window.
//!
//! From each position, in order, a path continues with a literal, with a repeat or a candidate of any length, or with one of these, a literal
//! and a repeat of the last distance together: after a single byte that differs a match often goes on, which is cheap only as a whole. The
//! cheapest way to arrive at a position is kept. State and last distances depend on the path: those of the cheapest path to a position are
//! taken.

use super::coder::{Past, Symbol};
use super::model::{Contexts, LONGEST, Model};
use super::prices::Prices;
use super::walk::Walk;
use crate::search::candidates::Matches;

/// Lengths side by side.
pub(super) const LANES: usize = 8;
pub(super) type Lanes = [u32; LANES];

/// How a position is arrived at: the price in the high bits, so that the minimum is the cheapest, then the length of the match and which one
/// it is.
pub(super) type Arrival = u32;
pub(super) const PRICE: u32 = 13;
pub(super) const LENGTH: u32 = 4;
pub(super) const UNREACHED: Arrival = Arrival::MAX;
pub(super) const INFINITE: u32 = UNREACHED >> PRICE;
/// Which match: 0 to 3 is a repeat, then the continued candidate, then those found at its position.
pub(super) const CONTINUED: u32 = 4;
pub(super) const FOUND: u32 = 5;
/// A literal; its length is 1.
const LITERAL: u32 = 14;
/// A literal between two matches, or before one: as [`Joined`] says.
pub(super) const JOINED: u32 = 15;
pub(super) const SHORT: Arrival = 1 << LENGTH;
pub(super) const BY_LITERAL: Arrival = 1 << LENGTH | LITERAL;

/// Positions of a window, if it is not cut short where no match crosses its end.
pub(super) const WINDOW: usize = 2048;

/// Positions that matches from a window reach.
pub(super) const REACH: usize = WINDOW + 2 * LONGEST + 2 + LANES;

/// A match or a repeat, or nothing, then a literal, then a repeat of the last distance.
#[derive(Clone, Copy, Default)]
pub(super) struct Joined {
    /// 0 for nothing.
    pub(super) first: u16,
    pub(super) choice: u16,
    pub(super) rest: u16,
}

/// Where a path is found.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    /// The block, and [`super::PADDING`] bytes more.
    pub(super) text: &'a [u8],
    /// Its first position.
    pub(super) start: usize,
    /// The end of the part whose candidates are known, and its start.
    pub(super) part: (usize, usize),
    pub(super) found: Matches<'a>,
    pub(super) model: &'a Model,
    pub(super) contexts: Contexts,
    /// A match at least this long is taken as it is.
    pub(super) nice: usize,
}

pub(super) struct Path {
    pub(super) prices: Prices,
    arrivals: Vec<Arrival>,
    joined: Vec<Joined>,
    /// The cheapest path to each position that has been visited.
    settled: Vec<Past>,
}

impl Path {
    pub(super) fn new() -> Path {
        Path {
            prices: Prices::new(),
            arrivals: vec![0; REACH],
            joined: vec![Joined::default(); REACH],
            settled: vec![Past::START; REACH],
        }
    }

    pub(super) const MEMORY: usize =
        Prices::MEMORY + REACH * (size_of::<Arrival>() + size_of::<Joined>() + size_of::<Past>());

    /// Finds the cheapest path through a window from a past, by prices that are set. Its symbols are in `out`, the last one first.
    pub(super) fn find(&mut self, window: &Window, past: Past, out: &mut Vec<Symbol>) {
        self.arrivals.fill(UNREACHED);
        let Path { prices, arrivals, joined, settled } = self;
        let by_literal = INFINITE;
        let by_short = INFINITE;
        let walk = Walk {
            window,
            prices,
            arrivals,
            joined,
            settled,
            at: 0,
            past,
            is_longest: true,
            by_literal,
            by_short,
            reach: 0,
        };
        let end = walk.run();
        self.trace(window, end, out);
    }

    /// Follows the path back from its end.
    fn trace(&self, window: &Window, end: usize, out: &mut Vec<Symbol>) {
        out.clear();
        let mut at = end;
        while at > 0 {
            let arrival = self.arrivals[at];
            let (length, choice) = split(arrival);
            match choice {
                LITERAL => {
                    out.push(Symbol::LITERAL);
                    at -= 1;
                }
                JOINED => {
                    let joined = self.joined[at];
                    let first = usize::from(joined.first);
                    let rest = usize::from(joined.rest);
                    out.push(Symbol::repeat(rest, 0));
                    out.push(Symbol::LITERAL);
                    at -= rest + 1 + first;
                    if first > 0 {
                        out.push(self.symbol(window, at, first, joined.choice.into()));
                    }
                }
                choice => {
                    at -= length;
                    out.push(self.symbol(window, at, length, choice));
                }
            }
        }
    }

    fn symbol(&self, window: &Window, from: usize, length: usize, choice: u32) -> Symbol {
        match choice {
            0..CONTINUED => Symbol::repeat(length, choice),
            choice => Symbol::found(length, window.distance(from, choice)),
        }
    }
}

pub(super) fn split(arrival: Arrival) -> (usize, u32) {
    ((arrival >> LENGTH) as usize & ((1 << (PRICE - LENGTH)) - 1), arrival & ((1 << LENGTH) - 1))
}

impl Window<'_> {
    /// The distance of a candidate.
    #[inline(always)]
    fn distance(&self, from: usize, choice: u32) -> u32 {
        let index = self.start - self.part.0 + from;
        if choice == CONTINUED {
            return self.found.continued(index).distance();
        }
        self.found.at(index).get((choice - FOUND) as usize).map_or(1, |candidate| candidate.distance())
    }

    /// The probabilities of the literal at a position of the block.
    #[inline(always)]
    pub(super) fn literals(&self, at: usize) -> &[u16; super::model::LITERAL] {
        let before = if at > 0 { self.text[at - 1] } else { 0 };
        self.model.literal(self.contexts.of_literal(at, before))
    }
}

impl Past {
    /// Goes on by a match.
    #[inline(always)]
    pub(super) fn pass(&mut self, choice: u32, window: &Window, from: usize) {
        if choice < CONTINUED {
            self.repeat(choice);
        } else {
            self.found(window.distance(from, choice));
        }
    }
}
