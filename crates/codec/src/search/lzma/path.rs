//! The cheapest path through a window.
//!
//! From each position, in order, a path continues with a literal, or with a repeat or a candidate of any length. A path may also continue
//! with a combination: one of these, then a literal, then a repeat of the last distance. A match often continues after a single byte that
//! differs, and such a match is cheap only as a combination.
//!
//! The cheapest way to arrive at a position is kept, with the state and the last distances of its path.

use super::coder::{CoderState, Symbol};
use super::model::{Contexts, LONGEST, Model};
use super::prices::Prices;
use super::walk::Walk;
use crate::search::candidates::Matches;

/// Number of lengths processed together.
pub(super) const LANES: usize = 8;
pub(super) type Lanes = [u32; LANES];

/// How a path arrives at a position: the price in the high bits, so that the minimum is the cheapest, then the length of the match and its
/// choice.
pub(super) type Arrival = u32;
pub(super) const PRICE: u32 = 13;
pub(super) const LENGTH: u32 = 4;
pub(super) const UNREACHED: Arrival = Arrival::MAX;
pub(super) const INFINITE: u32 = UNREACHED >> PRICE;
/// Choices: 0 to 3 are repeats, 4 is the continued candidate, then come the candidates found at the position.
pub(super) const CONTINUED: u32 = 4;
pub(super) const FOUND: u32 = 5;
/// The choice of a literal, whose length is 1.
const LITERAL: u32 = 14;
/// The choice of a literal between two matches or before one, as in [`Joined`].
pub(super) const JOINED: u32 = 15;
pub(super) const SHORT: Arrival = 1 << LENGTH;
pub(super) const BY_LITERAL: Arrival = 1 << LENGTH | LITERAL;

/// Number of positions of a window. A window ends earlier where no match crosses its end.
pub(super) const WINDOW: usize = 2048;

/// Number of positions that matches from a window reach.
pub(super) const REACH: usize = WINDOW + 2 * LONGEST + 2 + 2 * LANES;

/// An optional match or repeat, then a literal, then a repeat of the last distance.
#[derive(Clone, Copy, Default)]
pub(super) struct Joined {
    /// Length of the match, or 0 without one.
    pub(super) first: u16,
    pub(super) choice: u16,
    pub(super) rest: u16,
}

/// Input of the search for a path.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    /// The block, followed by [`super::PADDING`] bytes.
    pub(super) text: &'a [u8],
    /// First position of the window.
    pub(super) start: usize,
    /// Start and end of the part whose candidates are known.
    pub(super) part: (usize, usize),
    pub(super) found: Matches<'a>,
    pub(super) model: &'a Model,
    pub(super) contexts: Contexts,
    /// A match of at least this length is used without comparing others.
    pub(super) nice: usize,
    /// A position inside a match is skipped if the next one costs at most this much more. `None` to skip none.
    pub(super) skipped: Option<u32>,
}

pub(super) struct Path {
    pub(super) prices: Prices,
    arrivals: Vec<Arrival>,
    joined: Vec<Joined>,
    /// The state after the cheapest path to each position that was visited.
    settled: Vec<CoderState>,
}

impl Path {
    pub(super) fn new() -> Path {
        Path {
            prices: Prices::new(),
            arrivals: vec![0; REACH],
            joined: vec![Joined::default(); REACH],
            settled: vec![CoderState::START; REACH],
        }
    }

    pub(super) const MEMORY: usize =
        Prices::MEMORY + REACH * (size_of::<Arrival>() + size_of::<Joined>() + size_of::<CoderState>());

    /// Finds the cheapest path through a window, starting with the state `past` and at the prices that are set. `out` gets its symbols, the
    /// last one first.
    pub(super) fn find(&mut self, window: &Window, past: CoderState, out: &mut Vec<Symbol>) {
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

impl CoderState {
    /// Continues with a match.
    #[inline(always)]
    pub(super) fn pass(&mut self, choice: u32, window: &Window, from: usize) {
        if choice < CONTINUED {
            self.repeat(choice);
        } else {
            self.found(window.distance(from, choice));
        }
    }
}
