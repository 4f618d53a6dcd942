//! The walk through a window.

use super::coder::CoderState;
use super::model::{KINDS, LONGEST, SHORTEST, State};
use super::path::{
    Arrival, BY_LITERAL, CONTINUED, FOUND, INFINITE, JOINED, Joined, LANES, Lanes, PRICE, SHORT, UNREACHED, WINDOW,
    Window, split,
};
use super::prices::{Prices, Shorter, Steps, literal, literal_after_match};
use crate::bytes::{bounded_match_length, eight};

/// If a price is higher than this, it and all later prices are lowered by [`LOWERED`].
const HIGH: u32 = 1 << 18;
const LOWERED: u32 = 1 << 17;

/// Number of positions after which a window ends where no match crosses its end.
const SHORTEST_WINDOW: usize = 512;

/// For each number of lengths: all bits set in the lanes after them.
static BEYOND: [Lanes; LANES + 1] = beyond();

const fn beyond() -> [Lanes; LANES + 1] {
    let mut all = [[0; LANES]; LANES + 1];
    let mut index = 0;
    while index < (LANES + 1) * LANES {
        if index % LANES >= index / LANES {
            all[index / LANES][index % LANES] = u32::MAX;
        }
        index += 1;
    }
    all
}

pub(super) struct Walk<'a> {
    pub(super) window: &'a Window<'a>,
    pub(super) prices: &'a Prices,
    pub(super) arrivals: &'a mut [Arrival],
    pub(super) joined: &'a mut [Joined],
    pub(super) settled: &'a mut [CoderState],
    pub(super) at: usize,
    pub(super) past: CoderState,
    /// Whether the last match has the maximum length of the format.
    pub(super) is_longest: bool,
    /// The price of arriving by a literal, and by a byte at the last distance.
    pub(super) by_literal: u32,
    pub(super) by_short: u32,
    /// The farthest position that has been offered.
    pub(super) reach: usize,
}

/// A match offered from a position.
#[derive(Clone, Copy)]
struct Offer {
    /// Price of the path and of the match without its length.
    price: u32,
    choice: u32,
    distance: u32,
    length: usize,
}

impl Walk<'_> {
    /// Visits the positions of the window. Returns their number.
    pub(super) fn run(self) -> usize {
        #[cfg(target_arch = "x86_64")]
        if crate::processor::has_avx2_and_bmi() {
            // SAFETY: the processor has these instructions.
            return unsafe { self.run_avx2() };
        }
        self.run_any()
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn run_avx2(self) -> usize {
        self.run_any()
    }

    #[inline(always)]
    fn run_any(mut self) -> usize {
        let end = (self.window.part.1 - self.window.start).min(WINDOW);
        self.settled[0] = self.past;
        let mut price = 0;
        loop {
            let longest = if self.is_dominated(price) { self.skip() } else { self.leave(price) };
            if longest >= self.window.nice {
                self.at += longest;
                self.by_literal = INFINITE;
                self.by_short = INFINITE;
                self.reach = self.at;
            } else {
                self.at += 1;
            }
            price = self.arrive();
            if self.at >= end || self.at >= SHORTEST_WINDOW && self.reach <= self.at {
                return self.at;
            }
        }
    }

    /// Whether a path from here is hardly cheaper than one from the next position: a path arrives there for little more than here, and no
    /// match begins here. A match of the previous position that continues does not begin here.
    #[inline(always)]
    fn is_dominated(&self, price: u32) -> bool {
        let Some(most) = self.window.skipped else { return false };
        if self.at == 0 || self.arrivals[self.at + 1] >> PRICE > price + most {
            return false;
        }
        let index = self.window.start + self.at - self.window.part.0;
        let [before, here] = [index - 1, index].map(|index| self.window.found.at(index).last());
        here.is_none_or(|here| before.is_some_and(|before| here.length() < before.length()))
    }

    /// Offers no match from the current position, and returns a length of 0.
    #[inline(always)]
    fn skip(&mut self) -> usize {
        self.by_literal = INFINITE;
        self.by_short = INFINITE;
        0
    }

    /// Settles the cheapest way to arrive at the current position. Returns its price.
    #[inline(always)]
    fn arrive(&mut self) -> u32 {
        let arrival = self.arrivals[self.at];
        let mut price = arrival >> PRICE;
        self.is_longest = false;
        if self.by_literal.min(self.by_short) <= price {
            price = self.by_literal.min(self.by_short);
            let is_literal = self.by_literal <= self.by_short;
            self.arrivals[self.at] = if is_literal { BY_LITERAL } else { SHORT };
            self.past.state = if is_literal { self.past.state.literal() } else { self.past.state.short() };
        } else {
            self.arrive_by_match(arrival);
        }
        if price > HIGH {
            self.lower();
            price -= LOWERED;
        }
        self.settled[self.at] = self.past;
        price
    }

    #[inline(always)]
    fn arrive_by_match(&mut self, arrival: Arrival) {
        let (length, choice) = split(arrival);
        self.is_longest = length == LONGEST;
        if choice != JOINED {
            let from = self.at - length;
            self.past = self.settled[from];
            self.past.pass(choice, self.window, from);
            return;
        }
        let Joined { first, choice, rest } = self.joined[self.at];
        let from = self.at - usize::from(first + 1 + rest);
        self.past = self.settled[from];
        if first > 0 {
            self.past.pass(choice.into(), self.window, from);
        }
        self.past.state = self.past.state.literal().repeat();
    }

    /// Lowers the prices that are not settled.
    #[cold]
    fn lower(&mut self) {
        for arrival in self.arrivals[self.at + 1..].iter_mut().filter(|arrival| **arrival != UNREACHED) {
            *arrival -= (LOWERED << PRICE).min(*arrival >> PRICE << PRICE);
        }
    }

    /// Offers all symbols that may follow at the current position. Returns the length of the longest match.
    #[inline(always)]
    fn leave(&mut self, price: u32) -> usize {
        let window = self.window;
        let at = window.start + self.at;
        let rest = (window.part.1 - at).min(LONGEST);
        let state = self.past.state;
        let position = window.contexts.of_position(at);
        let now = eight(window.text, at);
        let literals = window.literals(at);
        let last = self.past.distances[0] as usize;
        self.by_short = INFINITE;
        let literal_price = if state.is_literal() || last > at {
            literal(literals, now as u8)
        } else {
            literal_after_match(literals, now as u8, window.text[at - last])
        };
        self.by_literal = price + self.prices.literal[state.index()][position] + literal_price;
        if at == 0 {
            return 0;
        }
        let mut longest = self.leave_by_repeats(price, now, rest);
        let price = price + self.prices.found[state.index()][position];
        let index = at - window.part.0;
        let continued = window.found.continued(index);
        if continued.length() > 0 {
            let length = continued.length().min(rest);
            let distance = continued.distance();
            let (of_distance, shorter) = self.prices.of_distance(distance - 1);
            let offer = Offer { price: price + of_distance, choice: CONTINUED, distance, length };
            self.offer_found(&offer, shorter, SHORTEST, position);
            longest = longest.max(length);
        }
        let mut first = SHORTEST;
        for (choice, candidate) in (FOUND..).zip(window.found.at(index)) {
            let length = candidate.length().min(rest);
            let distance = candidate.distance();
            let (of_distance, shorter) = self.prices.of_distance(distance - 1);
            let offer = Offer { price: price + of_distance, choice, distance, length };
            self.offer_found(&offer, shorter, first, position);
            self.offer_joined(&offer, state.found(), |prices| prices.found_steps[position][length] >> PRICE);
            first = length + 1;
            longest = longest.max(length);
        }
        longest
    }

    /// Offers repeats. If the previous byte repeats too, the repeat was offered there and is not offered again, except after another match.
    #[inline(always)]
    fn leave_by_repeats(&mut self, price: u32, now: u64, rest: usize) -> usize {
        let window = self.window;
        let at = window.start + self.at;
        let CoderState { state, distances } = self.past;
        let position = window.contexts.of_position(at);
        let differing = distances.map(|distance| eight(window.text, at - distance as usize) ^ now);
        if differing[0] as u8 == 0 {
            self.by_short = price + self.prices.short[state.index()][position];
        } else if (differing[0] >> 8) as u16 == 0 {
            self.offer_after_literal(differing[0], distances[0]);
        }
        let mut longest = 0;
        // A bit for each repeat, because a single branch is predicted better than four.
        let mut equal = (0..4).map(|choice| u32::from(differing[choice] as u16 == 0) << choice).sum::<u32>();
        while equal != 0 {
            let choice = equal.trailing_zeros() as usize % 4;
            equal &= equal - 1;
            let differing = differing[choice];
            let distance = distances[choice];
            if rest < SHORTEST || !self.is_new(choice, distance as usize) {
                continue;
            }
            let there = at - distance as usize;
            let equal = match differing {
                0 => 8 + bounded_match_length(window.text, there + 8, at + 8, LONGEST),
                differing => differing.trailing_zeros() as usize / 8,
            };
            let length = equal.min(rest);
            let price = price + self.prices.repeat[state.index()][position][choice];
            let offer = Offer { price, choice: choice as u32, distance, length };
            let prices = self.prices;
            let base = [offer.price << PRICE | offer.choice; LANES];
            self.offer(&offer, &base, &prices.repeat_steps[position], SHORTEST);
            self.offer_joined(&offer, state.repeat(), |prices| prices.repeat_steps[position][length] >> PRICE);
            longest = longest.max(length);
        }
        longest
    }

    /// Whether a repeat begins at the current position.
    #[inline(always)]
    fn is_new(&self, choice: usize, distance: usize) -> bool {
        let at = self.window.start + self.at;
        if self.past.state.is_literal() {
            return at <= distance || self.window.text[at - 1] != self.window.text[at - 1 - distance];
        }
        choice > 0 || self.is_longest
    }

    /// Offers a literal and a repeat of the last distance.
    #[inline(always)]
    fn offer_after_literal(&mut self, differing: u64, distance: u32) {
        let at = self.window.start + self.at;
        let offer = Offer { price: self.by_literal, choice: 0, distance, length: 0 };
        let rest = match differing >> 8 {
            0 => 7 + bounded_match_length(self.window.text, at + 8 - distance as usize, at + 8, LONGEST - 7),
            differing => differing.trailing_zeros() as usize / 8,
        };
        self.join(&offer, self.past.state.literal(), rest);
    }

    /// Offers a match, a literal and a repeat of the match.
    #[inline(always)]
    fn offer_joined(&mut self, offer: &Offer, state: State, price: impl Fn(&Prices) -> u32) {
        let window = self.window;
        let end = window.start + self.at + offer.length;
        let there = end - offer.distance as usize;
        let differing = eight(window.text, end + 1) ^ eight(window.text, there + 1);
        if differing as u16 != 0 {
            return;
        }
        let rest = match differing {
            0 => 8 + bounded_match_length(window.text, there + 9, end + 9, LONGEST - 8),
            differing => differing.trailing_zeros() as usize / 8,
        };
        let price = offer.price + price(self.prices);
        // The rest is often too expensive without the literal.
        if !self.is_cheap(price, offer.length + 1 + rest.min(LONGEST)) {
            return;
        }
        let position = window.contexts.of_position(end);
        let of_literal = self.prices.literal[state.index()][position]
            + literal_after_match(window.literals(end), window.text[end], window.text[there]);
        self.join(&Offer { price: price + of_literal, ..*offer }, state.literal(), rest);
    }

    /// Whether no offer so far arrives at `length` bytes from here as cheaply.
    #[inline(always)]
    fn is_cheap(&self, price: u32, length: usize) -> bool {
        self.arrivals.get(self.at + length).is_some_and(|arrival| price < *arrival >> PRICE)
    }

    /// Offers a repeat of `rest` bytes after a literal. The price of the offer includes the literal.
    #[inline(always)]
    fn join(&mut self, offer: &Offer, state: State, rest: usize) {
        let window = self.window;
        let start = window.start + self.at + offer.length + 1;
        let rest = rest.min(LONGEST).min(window.part.1.saturating_sub(start));
        if rest < SHORTEST {
            return;
        }
        let position = window.contexts.of_position(start);
        let price =
            offer.price + self.prices.repeat[state.index()][position][0] + self.prices.of_repeated(rest, position);
        let target = self.at + offer.length + 1 + rest;
        let arrival = price << PRICE | JOINED;
        if let (Some(there), Some(joined)) = (self.arrivals.get_mut(target), self.joined.get_mut(target))
            && arrival < *there
        {
            *there = arrival;
            *joined = Joined { first: offer.length as u16, choice: offer.choice as u16, rest: rest as u16 };
            self.reach = self.reach.max(target);
        }
    }

    /// Offers all lengths from `first` on of a match at a new distance.
    #[inline(always)]
    fn offer_found(&mut self, offer: &Offer, shorter: &Shorter, first: usize, position: usize) {
        let base = offer.price << PRICE | offer.choice;
        let kinds = shorter[(first - SHORTEST).min(KINDS - 1)..].first_chunk().unwrap_or(&[0; LANES]);
        let prices = self.prices;
        self.offer(offer, &kinds.map(|kind| kind.wrapping_add(base)), &prices.found_steps[position], first);
    }

    /// Offers all lengths from `first` on. `base` is the price without the length of the first lengths.
    #[inline(always)]
    fn offer(&mut self, offer: &Offer, base: &Lanes, steps: &Steps, first: usize) {
        let mut count = (offer.length + 1).saturating_sub(first);
        self.improve(first, base, steps, &BEYOND[count.min(LANES)]);
        let base = [offer.price << PRICE | offer.choice; LANES];
        let mut length = first;
        loop {
            count = count.saturating_sub(LANES);
            length += LANES;
            self.improve(length, &base, steps, &BEYOND[count.min(LANES)]);
            if count <= LANES {
                break;
            }
        }
        self.reach = self.reach.max(self.at + offer.length);
    }

    /// Keeps the cheaper arrivals from the current position by the lengths from `first` on, except in lanes with all bits set.
    #[inline(always)]
    fn improve(&mut self, first: usize, base: &Lanes, steps: &Steps, except: &Lanes) {
        let steps = steps[first..].first_chunk::<LANES>();
        let arrivals = self.arrivals[self.at + first..].first_chunk_mut::<LANES>();
        if let (Some(&steps), Some(arrivals)) = (steps, arrivals) {
            // The lanes are copied because the compiler does not vectorise the loop otherwise.
            let mut lanes = *arrivals;
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].min(steps[lane].wrapping_add(base[lane]) | except[lane]);
            }
            *arrivals = lanes;
        }
    }
}
