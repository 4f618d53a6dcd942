//! The optimal encoder: finds one of the shortest encodings of a block by the real cost of each instruction.
//!
//! A block is processed in sections. First the matches of a section are found, then the cost of continuing from each position, for each
//! state that a decoder can be in. Then the cheapest path is followed and written.

use super::finder::{Effort, Finder, Search};
use super::position_matches::PositionMatches;
use super::prices::{Prices, RUN, Step};
use super::writer::{Match, Writer};

/// Number of positions of a section.
const SECTION: usize = 3 << 10;
/// Maximum number of bytes that a match extends beyond the end of its section.
const REACH: usize = 1 << 10;

// The costs of a section have 15 bits.
const _: () = assert!(8 * SECTION + 4 * REACH < 32_000);

pub(crate) struct Optimal {
    finder: Finder,
    effort: Effort,
    spots: Box<[PositionMatches]>,
    prices: Prices,
}

/// How far the output has come.
struct Progress {
    at: usize,
    state: usize,
    /// Start of the literals not yet written.
    done: usize,
}

/// A section: its number of positions, and the match after them that is long enough to be used without comparing others.
struct Section {
    count: usize,
    taken: Option<Match>,
}

impl Optimal {
    /// An encoder of a level of `lzo1x_999`, 1 to 9.
    pub fn new(level: u32) -> Optimal {
        let effort = Effort::new(level);
        Optimal {
            finder: Finder::new(),
            effort: Effort { nice: effort.nice.min(REACH), ..effort },
            spots: vec![PositionMatches::none(); SECTION].into_boxed_slice(),
            prices: Prices::new(SECTION, REACH),
        }
    }

    /// Memory of an encoder in bytes.
    pub const MEMORY: usize = Finder::MEMORY + SECTION * size_of::<PositionMatches>() + Prices::memory(SECTION, REACH);

    /// Compresses `src` into `out`. `None` if the result does not fit.
    pub fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Option<usize> {
        match self.effort.keys {
            1 => self.compress_by::<1>(src, out),
            2 => self.compress_by::<2>(src, out),
            _ => self.compress_by::<3>(src, out),
        }
    }

    fn compress_by<const KEYS: u32>(&mut self, src: &[u8], out: &mut [u8]) -> Option<usize> {
        let Optimal { finder, effort, spots, prices } = self;
        let mut search = finder.begin(src);
        let mut out = Writer::new(out);
        let mut progress = Progress { at: 0, state: RUN, done: 0 };
        while progress.at < src.len() {
            let section = find_matches::<KEYS>(&mut search, &mut spots[..SECTION.min(src.len() - progress.at)], effort);
            let spots = &spots[..section.count];
            // All paths meet before a match that is used without comparing others.
            let rest = src.len() - progress.at - section.count;
            let reach = if section.taken.is_some() { 0 } else { REACH.min(rest) };
            prices.find_steps(spots, section.count + reach);
            progress.follow(src, spots, prices, &mut out)?;
            if let Some(found) = section.taken {
                progress.take(src, found, &mut out)?;
            }
            search.skip_to::<KEYS>(progress.at);
        }
        out.finish(&src[progress.done..])
    }
}

/// Finds the matches of the positions of a section, up to the length of `spots`.
fn find_matches<const KEYS: u32>(search: &mut Search, spots: &mut [PositionMatches], effort: &Effort) -> Section {
    let mut spot = PositionMatches::none();
    for (index, kept) in spots.iter_mut().enumerate() {
        spot = search.next::<KEYS>(&spot, effort);
        let far = spot.longest()[2];
        if far.length() >= effort.nice {
            let taken = Match { length: far.length(), distance: far.distance().into() };
            return Section { count: index, taken: Some(taken) };
        }
        *kept = spot;
    }
    Section { count: spots.len(), taken: None }
}

impl Progress {
    fn take(&mut self, src: &[u8], found: Match, out: &mut Writer) -> Option<()> {
        out.step(&src[self.done..self.at], found)?;
        let end = self.at + found.length;
        *self = Progress { at: end, state: 0, done: end };
        Some(())
    }

    /// Follows the cheapest path through a section and writes it.
    fn follow(&mut self, src: &[u8], spots: &[PositionMatches], prices: &Prices, out: &mut Writer) -> Option<()> {
        let start = self.at;
        let end = start + spots.len();
        while self.at < end {
            let index = self.at - start;
            match prices.step(index, self.state, &spots[index]) {
                Step::Match(found) => self.take(src, found, out)?,
                Step::Literal => {
                    self.state = (self.state + 1).min(RUN);
                    self.at += 1;
                }
            }
        }
        Some(())
    }
}
