//! The cost of continuing from each position of a section, and the best step there.
//!
//! The costs are computed from the end of a section to its start: the cost after a match that ends at a position, and the cost after
//! literals. The number of literals matters: one to three are attached to the match before them, more form a run. All states are computed
//! together.

use super::position_matches::{Longest, PositionMatches};
use super::writer::{M1_FAR_FIRST, M1_FAR_LENGTH, M1_FAR_MOST, M2_LONGEST, M3_SHORT, M4_SHORT, Match};

/// The state of a run. A lower state is the number of literals since the match.
pub(super) const RUN: usize = 4;
/// A cost for each state. The states after [`RUN`] have the same cost as it.
type States = [i16; 8];
/// The cost of a byte. Half of it is the gain of a match for each byte of the next section that it covers. The low bits of a cost store the
/// step.
const BYTE: i16 = 2 << STEP_BITS;
const HALF: i16 = BYTE / 2;
const STEP_BITS: u32 = 2;
/// Steps. The literal is 0, so that it wins among equal costs.
const MATCH: i16 = 1;
const SHORT: i16 = 2;
const STEP: i16 = (1 << STEP_BITS) - 1;

/// The steps of a section and their costs.
pub(super) struct Prices {
    /// The cost after a match; an estimate for positions after the section.
    after: Box<[i16]>,
    states: Box<[States]>,
    /// The match that may follow in any state.
    found: Box<[ChosenMatch]>,
}

/// Which of a position's longest matches is best, and its length.
#[derive(Clone, Copy)]
struct ChosenMatch(u16);

/// The kind is stored above the length, which is less than 2^14.
const KIND_SHIFT: u32 = 14;

pub(super) enum Step {
    Literal,
    Match(Match),
}

impl Prices {
    /// For sections of `section` positions, whose matches extend at most `reach` bytes beyond the section. Costs have 15 bits, so that 8 *
    /// `section` + 4 * `reach` must be below 32,000.
    pub fn new(section: usize, reach: usize) -> Prices {
        Prices {
            after: vec![0; section + reach + 1].into_boxed_slice(),
            states: vec![[0; 8]; section].into_boxed_slice(),
            found: vec![ChosenMatch(0); section].into_boxed_slice(),
        }
    }

    /// Memory in bytes.
    pub const fn memory(section: usize, reach: usize) -> usize {
        (section + reach + 1) * 2 + section * (size_of::<States>() + 2)
    }

    /// Finds the best step at each position. No match may extend beyond `limit`.
    pub fn find_steps(&mut self, spots: &[PositionMatches], limit: usize) {
        let count = spots.len();
        for (beyond, cost) in self.after[count..=limit].iter_mut().rev().enumerate() {
            *cost = beyond as i16 * HALF;
        }
        let mut next = [self.after[count]; 8];
        for (index, spot) in spots.iter().enumerate().rev() {
            let (states, found) = choose(spot, &self.after[index..=limit], &next);
            self.states[index] = states;
            self.found[index] = found;
            next = states.map(|cost| cost & !STEP);
            self.after[index] = next[0];
        }
    }

    /// The best step at a position in a state.
    #[inline(always)]
    pub fn step(&self, index: usize, state: usize, spot: &PositionMatches) -> Step {
        let short = |length, distance: u16| Step::Match(Match { length, distance: distance.into() });
        match self.states[index][state] & STEP {
            0 => Step::Literal,
            MATCH => {
                let ChosenMatch(found) = self.found[index];
                let kind = found >> KIND_SHIFT;
                let length = found & ((1 << KIND_SHIFT) - 1);
                short(length.into(), spot.longest()[usize::from(kind % 3)].distance())
            }
            _ if state == RUN => short(M1_FAR_LENGTH, spot.longest()[1].distance()),
            _ => short(2, spot.two()),
        }
    }
}

/// The cheapest step of each state and its cost, and the match that all states share. `ahead` has the costs after a match from here on;
/// `next` has the costs at the next position.
#[inline(always)]
fn choose(spot: &PositionMatches, ahead: &[i16], next: &States) -> (States, ChosenMatch) {
    let (best, found) = cheapest(spot, ahead);
    let near = if spot.two() > 0 && ahead.len() > 2 { (ahead[2] + 2 * BYTE) | SHORT } else { i16::MAX };
    let far = if is_far(spot.longest()[1]) && ahead.len() > M1_FAR_LENGTH {
        (ahead[M1_FAR_LENGTH] + 2 * BYTE) | SHORT
    } else {
        i16::MAX
    };
    let special = [i16::MAX, near, near, near, far, far, far, far];
    let literal = after_literal(next);
    let best = best | MATCH;
    (std::array::from_fn(|state| literal[state].min(best).min(special[state])), found)
}

/// Whether the match has a two-byte form after a run.
#[inline(always)]
fn is_far(found: Longest) -> bool {
    (M1_FAR_FIRST..=M1_FAR_MOST).contains(&found.distance().into()) && found.length() >= M1_FAR_LENGTH
}

/// Costs after a literal. The fourth literal starts a run, which takes one more byte. (Longer headers of long runs are ignored.)
#[inline(always)]
fn after_literal(next: &States) -> States {
    let one_on = [next[1], next[2], next[3], next[4], next[5], next[6], next[7], next[7]];
    let price = [BYTE, BYTE, BYTE, 2 * BYTE, BYTE, BYTE, BYTE, BYTE];
    std::array::from_fn(|state| one_on[state] + price[state])
}

/// The cheapest match and its cost. The candidates are the longest match of each kind, and the longest that takes a byte less.
#[inline(always)]
fn cheapest(spot: &PositionMatches, ahead: &[i16]) -> (i16, ChosenMatch) {
    let most = ahead.len() - 1;
    let [near, middle, far] = spot.longest().map(|found| found.length().min(most));
    // The cost is in the high bits, so the minimum is the best.
    let cost = |kind: u32, length: usize, bytes: usize| {
        u32::from((ahead[length] + bytes as i16 * BYTE) as u16) << 16 | kind << KIND_SHIFT | length as u32
    };
    if far < 3 {
        return (i16::MAX, ChosenMatch(0));
    }
    let short = near.min(M2_LONGEST);
    let medium = middle.min(M3_SHORT);
    let mut best = if near > 2 { cost(0, short, 2) } else { u32::MAX };
    best = best.min(if medium > short { cost(1, medium, 3) } else { u32::MAX });
    if middle > M3_SHORT {
        best = best.min(cost(1, middle, 3 + (middle - M3_SHORT).div_ceil(255)));
    }
    if far > middle {
        best = best.min(cost(2, far.min(M4_SHORT), 3));
        if far > M4_SHORT {
            best = best.min(cost(2, far, 3 + (far - M4_SHORT).div_ceil(255)));
        }
    }
    ((best >> 16) as i16, ChosenMatch(best as u16))
}
