//! The prices of symbols, by the probabilities at the start of a window.

use super::model::{
    ALIGN, Contexts, EVEN_SLOT, FAR, KINDS, LITERAL, LONGEST, Lengths, Model, POSITIONS, SHORTEST, SLOTS, STATES,
    State, slot,
};
use super::path::{LANES, LENGTH, PRICE};
use super::range::Probability;

/// The price of a bit whose values are equally likely.
pub(super) const BIT: u32 = 16;

/// The price of a 0 in 16ths of a bit, by the probability of a 0 in 1/128.
static PRICES: [u8; 128] = prices();

/// Logarithms by repeated squaring.
const fn prices() -> [u8; 128] {
    let mut all = [0; 128];
    let mut index = 0;
    while index < 128 {
        // The middle of the interval, as a fraction of 2^16.
        let mut number = (index as u64 * 2 + 1) << 8;
        let mut bits = 0;
        let mut step = 0;
        while step < 4 {
            number *= number;
            bits <<= 1;
            while number >= 1 << 16 {
                number >>= 1;
                bits += 1;
            }
            step += 1;
        }
        all[index] = ((16 << 4) - 15 - bits) as u8;
        index += 1;
    }
    all
}

#[inline(always)]
pub(super) fn price(probability: Probability, bit: usize) -> u32 {
    let flipped = usize::from(probability) ^ (0x7ff * bit);
    u32::from(PRICES[flipped >> 4 & 0x7f])
}

/// Prices by length, as steps of a path.
pub(super) type Steps = [u32; LONGEST + 1 + 2 * LANES];
/// Additional prices by length.
pub(super) type Shorter = [u32; KINDS - 1 + LANES];

pub(super) struct Prices {
    /// By state and position: the price of choosing a literal, a match with a new distance, a byte at the last distance, or one of the four
    /// repeats.
    pub(super) literal: [[u32; POSITIONS]; STATES],
    pub(super) found: [[u32; POSITIONS]; STATES],
    pub(super) short: [[u32; POSITIONS]; STATES],
    pub(super) repeat: [[[u32; 4]; POSITIONS]; STATES],
    /// The price of each length together with the length, by position.
    pub(super) found_steps: Box<[Steps; POSITIONS]>,
    pub(super) repeat_steps: Box<[Steps; POSITIONS]>,
    /// Prices of distances for long matches.
    near: [u32; FAR],
    slots: [u32; SLOTS],
    align: [u32; 1 << ALIGN],
    /// Added for shorter matches, by the slot of the distance: one value for each of the first lengths, then zeros.
    shorter: [Shorter; SLOTS],
}

/// Computes the prices of all numbers of a tree, 0 to 2^`bits` - 1.
fn tree(probabilities: &[Probability], bits: u32, out: &mut [u32]) {
    let mut nodes = [0; 512];
    for node in 1..1 << bits {
        for bit in [0, 1] {
            nodes[node << 1 | bit] = nodes[node] + price(probabilities[node], bit);
        }
    }
    out[..1 << bits].copy_from_slice(&nodes[1 << bits..2 << bits]);
}

fn reverse_tree(probabilities: &[Probability], bits: u32, number: usize) -> u32 {
    let mut node = 1;
    let mut sum = 0;
    for index in 0..bits {
        let bit = number >> index & 1;
        sum += price(probabilities[node], bit);
        node = node << 1 | bit;
    }
    sum
}

impl Prices {
    pub(super) fn new() -> Prices {
        Prices {
            literal: [[0; POSITIONS]; STATES],
            found: [[0; POSITIONS]; STATES],
            short: [[0; POSITIONS]; STATES],
            repeat: [[[0; 4]; POSITIONS]; STATES],
            found_steps: Box::new([[0; LONGEST + 1 + 2 * LANES]; POSITIONS]),
            repeat_steps: Box::new([[0; LONGEST + 1 + 2 * LANES]; POSITIONS]),
            near: [0; FAR],
            slots: [0; SLOTS],
            align: [0; 1 << ALIGN],
            shorter: [[0; KINDS - 1 + LANES]; SLOTS],
        }
    }

    pub(super) const MEMORY: usize = size_of::<Prices>() + 2 * size_of::<[Steps; POSITIONS]>();

    pub(super) fn set(&mut self, model: &Model, contexts: Contexts) {
        let positions = 1 << contexts.pb;
        self.set_kinds(model, positions);
        set_steps(&model.found, positions, &mut self.found_steps);
        set_steps(&model.repeated, positions, &mut self.repeat_steps);
        self.set_distances(model);
    }

    fn set_kinds(&mut self, model: &Model, positions: usize) {
        for state in State::all().map(State::index) {
            let [not_first, not_second, not_third] = model.is_older[state];
            let new = price(model.is_repeat[state], 0);
            let repeat = price(model.is_repeat[state], 1);
            let older = repeat + price(not_first, 1);
            let oldest = older + price(not_second, 1);
            let of_second = older + price(not_second, 0);
            let [of_third, of_fourth] = [0, 1].map(|bit| oldest + price(not_third, bit));
            for position in 0..positions {
                let is_match = price(model.is_match[state][position], 1);
                let first = repeat + price(not_first, 0);
                let [short, long] = [0, 1].map(|bit| is_match + first + price(model.is_long[state][position], bit));
                self.literal[state][position] = price(model.is_match[state][position], 0);
                self.found[state][position] = is_match + new;
                self.short[state][position] = short;
                self.repeat[state][position] = [long, is_match + of_second, is_match + of_third, is_match + of_fourth];
            }
        }
    }

    fn set_distances(&mut self, model: &Model) {
        let mut all = [[0; SLOTS]; KINDS];
        for (prices, probabilities) in all.iter_mut().zip(&model.slots) {
            tree(probabilities, 6, prices);
        }
        let long = all[KINDS - 1];
        for (index, shorter) in self.shorter.iter_mut().enumerate() {
            for kind in 0..KINDS - 1 {
                shorter[kind] = all[kind][index].wrapping_sub(long[index]) << PRICE;
            }
        }
        for (index, near) in self.near.iter_mut().enumerate() {
            let slot = slot(index as u32);
            let bits = if slot < 4 { 0 } else { slot as u32 / 2 - 1 };
            *near = long[slot] + reverse_tree(&model.near[slot.min(EVEN_SLOT - 1)], bits, index);
        }
        for (index, (price, long)) in self.slots.iter_mut().zip(long).enumerate() {
            *price = long + (index as u32 / 2).saturating_sub(1 + ALIGN) * BIT;
        }
        self.align = std::array::from_fn(|index| reverse_tree(&model.align, ALIGN, index));
    }

    /// Returns the price of a distance, 0 for the byte before, and the additional prices of the shortest matches.
    #[inline(always)]
    pub(super) fn of_distance(&self, distance: u32) -> (u32, &Shorter) {
        let slot = slot(distance) % SLOTS;
        let price = match self.near.get(distance as usize) {
            Some(price) => *price,
            None => self.slots[slot] + self.align[distance as usize % (1 << ALIGN)],
        };
        (price, &self.shorter[slot])
    }

    /// The price of a repeat's length.
    #[inline(always)]
    pub(super) fn of_repeated(&self, length: usize, position: usize) -> u32 {
        self.repeat_steps[position % POSITIONS][length.min(LONGEST)] >> PRICE
    }
}

fn set_steps(lengths: &Lengths, positions: usize, all: &mut [Steps; POSITIONS]) {
    let [first, second] = lengths.choices;
    let longer = price(first, 1);
    let mut values = [0; LONGEST + 1 - SHORTEST];
    tree(&lengths.high, 8, &mut values[16..]);
    let highest = longer + price(second, 1);
    values[16..].iter_mut().for_each(|value| *value += highest);
    for (position, steps) in all[..positions].iter_mut().enumerate() {
        tree(&lengths.low[position], 3, &mut values);
        tree(&lengths.middle[position], 3, &mut values[8..]);
        values[..8].iter_mut().for_each(|value| *value += price(first, 0));
        values[8..16].iter_mut().for_each(|value| *value += longer + price(second, 0));
        for (length, (step, value)) in (SHORTEST as u32..).zip(steps[SHORTEST..].iter_mut().zip(values)) {
            *step = value << PRICE | length << LENGTH;
        }
    }
}

/// The price of a literal by the probabilities of its context.
#[inline(always)]
pub(super) fn literal(probabilities: &[Probability; LITERAL], byte: u8) -> u32 {
    let symbol = usize::from(byte) | 0x100;
    let mut sum = 0;
    for index in 0..8 {
        sum += price(probabilities[symbol >> (index + 1)], symbol >> index & 1);
    }
    sum
}

/// The price of a literal after a match. `expected` is the byte at the last distance.
#[inline(always)]
pub(super) fn literal_after_match(probabilities: &[Probability; LITERAL], byte: u8, expected: u8) -> u32 {
    let symbol = usize::from(byte) | 0x100;
    let expected = usize::from(expected);
    // The tree after a match is used up to the first bit that differs.
    let least =
        7usize.saturating_sub((usize::from(byte) ^ expected).leading_zeros() as usize - (usize::BITS as usize - 8));
    let node = |index: usize| {
        let offset = if index >= least { 0x100 + ((expected >> index & 1) << 8) } else { 0 };
        (offset + (symbol >> (index + 1))) % LITERAL
    };
    let mut sum = 0;
    for index in 0..8 {
        sum += price(probabilities[node(index)], symbol >> index & 1);
    }
    sum
}
