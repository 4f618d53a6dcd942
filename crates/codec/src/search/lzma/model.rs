//! The probabilities of LZMA, and how they code symbols (xz `doc/lzma-file-format.txt`; the LZMA specification of the LZMA SDK).

use super::range::{EVEN, Probability, RangeEncoder};

/// Number of states.
pub(super) const STATES: usize = 12;
/// Maximum number of values of a position's lowest bits.
pub(super) const POSITIONS: usize = 16;
/// Number of probabilities of a literal context: plain literals, then literals after a match by the bit of the match.
pub(super) const LITERAL: usize = 0x300;
/// Maximum number of literal contexts, which have at most four bits.
const CONTEXTS: usize = 1 << 4;

/// Shortest and longest match in bytes.
pub(super) const SHORTEST: usize = 2;
pub(super) const LONGEST: usize = SHORTEST + 8 + 8 + 256 - 1;

/// Number of distance slots.
pub(super) const SLOTS: usize = 64;
/// Number of length kinds that distances depend on: 2, 3, 4, and more.
pub(super) const KINDS: usize = 4;
/// The first slot whose distances have bits of even probability, and the distance that it begins with.
pub(super) const EVEN_SLOT: usize = 14;
pub(super) const FAR: usize = 128;
/// Number of the lowest bits of a far distance that have probabilities.
pub(super) const ALIGN: u32 = 4;
/// Stored instead of a distance at the end of the data.
pub(super) const END: u32 = u32::MAX;

/// The state after a literal, by the state before.
static AFTER_LITERAL: [u8; 16] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 4, 5, 0, 0, 0, 0];

/// The kinds of the last symbols. Below 7 the last one is a literal, otherwise a match, a repeat or a byte at the last distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State(u8);

impl State {
    pub(super) const START: State = State(0);

    #[inline(always)]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    #[inline(always)]
    pub(super) fn is_literal(self) -> bool {
        self.0 < 7
    }

    #[inline(always)]
    pub(super) fn literal(self) -> State {
        // Branches would be mispredicted.
        State(AFTER_LITERAL[self.index() % AFTER_LITERAL.len()])
    }

    #[inline(always)]
    pub(super) fn found(self) -> State {
        State(7 + 3 * u8::from(!self.is_literal()))
    }

    #[inline(always)]
    pub(super) fn repeat(self) -> State {
        State(8 + 3 * u8::from(!self.is_literal()))
    }

    #[inline(always)]
    pub(super) fn short(self) -> State {
        State(9 + 2 * u8::from(!self.is_literal()))
    }

    pub(super) fn all() -> impl Iterator<Item = State> {
        (0..STATES as u8).map(State)
    }
}

/// The probabilities of lengths.
#[derive(Clone)]
pub(super) struct Lengths {
    pub(super) choices: [Probability; 2],
    pub(super) low: [[Probability; 8]; POSITIONS],
    pub(super) middle: [[Probability; 8]; POSITIONS],
    pub(super) high: [Probability; 256],
}

impl Lengths {
    const NEW: Lengths =
        Lengths { choices: [EVEN; 2], low: [[EVEN; 8]; POSITIONS], middle: [[EVEN; 8]; POSITIONS], high: [EVEN; 256] };

    #[inline(always)]
    fn encode(&mut self, range: &mut RangeEncoder, length: usize, position: usize) {
        let value = (length - SHORTEST) as u32;
        let [first, second] = &mut self.choices;
        range.bit(first, u32::from(value >= 8));
        if value < 8 {
            return range.tree(&mut self.low[position], value, 3);
        }
        range.bit(second, u32::from(value >= 16));
        if value < 16 {
            return range.tree(&mut self.middle[position], value - 8, 3);
        }
        range.tree(&mut self.high, value - 16, 8);
    }
}

/// Numbers of bits of the position and of the previous byte that choose the probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contexts {
    pub(crate) lc: u32,
    pub(crate) lp: u32,
    pub(crate) pb: u32,
}

impl Contexts {
    pub(crate) const USUAL: Contexts = Contexts { lc: 3, lp: 0, pb: 2 };

    /// The same with every combination of literal bits that LZMA2 allows.
    pub(super) fn other_literals(self) -> Vec<Contexts> {
        (0..=4).flat_map(|lp| (0..=4 - lp).map(move |lc| Contexts { lc, lp, ..self })).collect()
    }

    /// The same with every number of position bits.
    pub(super) fn other_positions(self) -> Vec<Contexts> {
        (0..=4).map(|pb| Contexts { pb, ..self }).collect()
    }

    /// The contexts as the formats store them.
    pub(crate) fn byte(self) -> u8 {
        ((self.pb * 5 + self.lp) * 9 + self.lc) as u8
    }

    /// Index of the first probability of a literal at a position after a byte.
    #[inline(always)]
    pub(super) fn of_literal(self, at: usize, before: u8) -> usize {
        let low = at & ((1 << self.lp) - 1);
        ((low << self.lc) + (usize::from(before) >> (8 - self.lc))) % CONTEXTS * LITERAL
    }

    #[inline(always)]
    pub(super) fn of_position(self, at: usize) -> usize {
        at & ((1 << self.pb) - 1) & (POSITIONS - 1)
    }
}

#[derive(Clone)]
pub(super) struct Model {
    pub(super) literals: [Probability; CONTEXTS * LITERAL],
    pub(super) is_match: [[Probability; POSITIONS]; STATES],
    pub(super) is_repeat: [Probability; STATES],
    /// Whether a repeat is not of the last distance, not of the second, not of the third.
    pub(super) is_older: [[Probability; 3]; STATES],
    pub(super) is_long: [[Probability; POSITIONS]; STATES],
    pub(super) slots: [[Probability; SLOTS]; KINDS],
    /// Probabilities of the lower bits of near distances, by slot. The first element is not used.
    pub(super) near: [[Probability; 32]; EVEN_SLOT],
    pub(super) align: [Probability; 1 << ALIGN],
    pub(super) found: Lengths,
    pub(super) repeated: Lengths,
}

impl Model {
    pub(super) const NEW: Model = Model {
        literals: [EVEN; CONTEXTS * LITERAL],
        is_match: [[EVEN; POSITIONS]; STATES],
        is_repeat: [EVEN; STATES],
        is_older: [[EVEN; 3]; STATES],
        is_long: [[EVEN; POSITIONS]; STATES],
        slots: [[EVEN; SLOTS]; KINDS],
        near: [[EVEN; 32]; EVEN_SLOT],
        align: [EVEN; 1 << ALIGN],
        found: Lengths::NEW,
        repeated: Lengths::NEW,
    };

    /// The probabilities of the literal context that begins at `first`.
    #[inline(always)]
    pub(super) fn literal(&self, first: usize) -> &[Probability; LITERAL] {
        self.literals[first..].first_chunk().unwrap_or(&[EVEN; LITERAL])
    }

    /// Codes a literal. After a match, `expected` is the byte at the last distance.
    #[inline(always)]
    pub(super) fn encode_literal(&mut self, range: &mut RangeEncoder, first: usize, byte: u8, expected: Option<u8>) {
        let Some(probabilities) = self.literals[first..].first_chunk_mut::<LITERAL>() else { return };
        let symbol = usize::from(byte) | 0x100;
        // The tree after a match is used up to the first bit that differs. Until then `tree` is its first node, afterwards 0.
        let mut tree = if expected.is_some() { 0x100 } else { 0 };
        let mut expected = usize::from(expected.unwrap_or(0));
        for index in (0..8).rev() {
            let bit = symbol >> index & 1;
            expected <<= 1;
            let node = tree + (expected & tree) + (symbol >> (index + 1));
            let Some(probability) = probabilities.get_mut(node) else { return };
            range.bit(probability, bit as u32);
            tree &= !(expected ^ bit << 8);
        }
    }

    /// Codes a match at a new distance. `distance` is 0 for the byte before.
    #[inline(always)]
    pub(super) fn encode_found(&mut self, range: &mut RangeEncoder, length: usize, distance: u32, position: usize) {
        self.found.encode(range, length, position);
        let slot = slot(distance);
        range.tree(&mut self.slots[kind(length)], slot as u32, 6);
        if slot < 4 {
            return;
        }
        let bits = slot as u32 / 2 - 1;
        if slot < EVEN_SLOT {
            return range.reverse_tree(&mut self.near[slot], distance, bits);
        }
        range.even_bits(distance >> ALIGN, bits - ALIGN);
        range.reverse_tree(&mut self.align, distance, ALIGN);
    }

    #[inline(always)]
    pub(super) fn encode_repeat(&mut self, range: &mut RangeEncoder, length: usize, position: usize) {
        self.repeated.encode(range, length, position);
    }
}

/// The kind of a length.
#[inline(always)]
pub(super) fn kind(length: usize) -> usize {
    length.saturating_sub(SHORTEST).min(KINDS - 1)
}

/// The slot of a distance: its two highest bits, and the number of bits that follow them.
#[inline(always)]
pub(super) fn slot(distance: u32) -> usize {
    if distance < 4 {
        return distance as usize;
    }
    let log = distance.ilog2();
    (log * 2 + (distance >> (log - 1) & 1)) as usize
}
