//! The cheapest path through a section.

use std::ops::Range;

use super::matches::Matches;
use super::statistics::Prices;
use super::symbols::{LENGTH_MASK, LONGEST, SHORTEST, Step, starts_symbol};
use crate::search::log::BIT;

/// A step that costs this much more than the best one at its position is not weighed again.
const MARGIN: u32 = 10 * BIT;
/// Largest average number of matches of a position that are weighed again. Most data have three to five. If there are more, only the best
/// one is kept at the last positions that are searched.
const AVERAGE: usize = 12;
/// Maximum number of steps of a position: a match of each symbol of a length, and the longest match of each symbol of a distance.
const MOST: usize = 64;

/// The longest length with the same symbol as each length.
static SAME: [u16; LENGTH_MASK + 1] = longest_of_symbol();

const fn longest_of_symbol() -> [u16; LENGTH_MASK + 1] {
    let mut same = [0; LENGTH_MASK + 1];
    let mut length = LONGEST;
    let mut last = LONGEST;
    while length >= SHORTEST {
        if length < LONGEST && starts_symbol(length + 1) {
            last = length;
        }
        same[length] = last as u16;
        length -= 1;
    }
    same
}

#[derive(Default)]
pub(super) struct Path {
    /// The price from each position to the end.
    costs: Vec<u32>,
    /// The best step at each position.
    steps: Vec<Step>,
    /// The matches that are weighed again, from the last position on.
    good: Vec<Step>,
    /// Number of matches in `good`. More elements are spare.
    kept: usize,
    /// End of each position's matches in `good`. A further element, after the last position, is 0.
    ends: Vec<u32>,
}

impl Path {
    /// Memory for sections of `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        (3 * size + 2 + AVERAGE * size + MOST) * size_of::<u32>()
    }

    /// Prepares for a section of `size` bytes, whose parts are added from the last to the first. The first path of a section is `new`.
    pub(super) fn begin(&mut self, size: usize, new: bool) {
        if !new {
            return;
        }
        self.costs.clear();
        self.costs.reserve_exact(size + 1);
        self.costs.resize(size + 1, 0);
        self.steps.clear();
        self.steps.reserve_exact(size);
        self.steps.resize(size, Step::default());
        self.ends.clear();
        self.ends.reserve_exact(size + 1);
        self.ends.resize(size + 1, 0);
        self.kept = 0;
        let most = AVERAGE * size + MOST;
        self.good.reserve_exact(most.saturating_sub(self.good.len()));
        self.good.resize(most.max(self.good.len()), Step::default());
    }

    /// Finds the cheapest step at each position of a part.
    #[inline(never)]
    pub(super) fn find(&mut self, src: &[u8], matches: &Matches, part: Range<usize>, prices: &Prices) {
        let most = AVERAGE * self.steps.len();
        let mut kept = self.kept;
        for at in part.rev() {
            let mut best = self.costs[at + 1] + prices.literals[usize::from(src[at])];
            let mut step = Step::literal(src[at]);
            let ahead = &self.costs[at..];
            let found = matches.at(at);
            let least = matches.least(at);
            let margin = if kept + at < most { MARGIN } else { 0 };
            let before = kept;
            for (index, this) in found.iter().enumerate() {
                let price = prices.distance(*this);
                let longest = this.length();
                let mut length = found.get(index + 1).map_or(least, |next| next.length() + 1);
                while length <= longest {
                    let taken = usize::from(SAME[length & LENGTH_MASK]).min(longest);
                    let cost = price + prices.lengths[taken & LENGTH_MASK] + ahead[taken];
                    let shorter = this.with_length(taken);
                    if let Some(place) = self.good.get_mut(kept) {
                        *place = shorter;
                        kept += usize::from(cost < best + margin);
                    }
                    if cost < best {
                        best = cost;
                        step = shorter;
                    }
                    length = taken + 1;
                }
            }
            if margin == 0 && kept > before {
                self.good[before] = step;
                kept = before + 1;
            }
            self.costs[at] = best;
            self.steps[at] = step;
            self.ends[at] = kept as u32;
        }
        self.kept = kept;
    }

    /// Finds the cheapest step at each position of a part among those that were nearly the best.
    #[inline(never)]
    pub(super) fn find_again(&mut self, src: &[u8], part: Range<usize>, prices: &Prices) {
        let mut next = self.ends[part.end] as usize;
        for at in part.rev() {
            let mut best = self.costs[at + 1] + prices.literals[usize::from(src[at])];
            let mut step = Step::literal(src[at]);
            let ahead = &self.costs[at..];
            let end = self.ends[at] as usize;
            for this in &self.good[next..end] {
                let length = this.length();
                let cost = prices.distance(*this) + prices.lengths[length & LENGTH_MASK] + ahead[length];
                if cost < best {
                    best = cost;
                    step = *this;
                }
            }
            next = end;
            self.costs[at] = best;
            self.steps[at] = step;
        }
    }

    /// Follows the path.
    pub(super) fn follow(&self, steps: &mut Vec<Step>) {
        steps.clear();
        let mut at = 0;
        while let Some(&step) = self.steps.get(at) {
            steps.push(step);
            at += step.bytes();
        }
    }
}
