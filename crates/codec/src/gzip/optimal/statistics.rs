//! How often symbols occur, what a block of them will cost, and prices.

use super::code::Codes;
use super::symbols::{
    DISTANCES, END, LENGTH_MASK, LITERALS, LONGEST, SHORTEST, Step, distance_extra, length_code, literal_extra,
};
use crate::search::log::{BIT, log2};

/// Estimated bits of a block's header: a number, and a number for each symbol that occurs. Measured on headers of real blocks.
const HEADER: u32 = 120;
const HEADER_SYMBOL: u32 = 3;

/// The counts of a block's symbols.
#[derive(Clone)]
pub(super) struct Statistics {
    pub(super) literals: [u32; LITERALS],
    pub(super) distances: [u32; DISTANCES],
}

impl Statistics {
    /// The statistics of a block without steps.
    pub(super) fn new() -> Statistics {
        let mut literals = [0; LITERALS];
        literals[END] = 1;
        Statistics { literals, distances: [0; DISTANCES] }
    }

    pub(super) fn of(steps: &[Step]) -> Statistics {
        let mut made = Statistics::new();
        for step in steps {
            *made.literal(*step) += 1;
            if step.length() > 0 {
                made.distances[step.symbol()] += 1;
            }
        }
        made
    }

    /// A guess from the bytes of a section: all bytes as literals, a match to four literals, and short lengths and far distances more often.
    pub(super) fn guessed(src: &[u8]) -> Statistics {
        let mut made = Statistics::new();
        src.iter().for_each(|byte| made.literals[usize::from(*byte)] += 1);
        (1..).zip(&mut made.distances).for_each(|(count, distance)| *distance = count);
        made.with_guessed_lengths()
    }

    /// The same with a guess of the lengths.
    pub(super) fn with_guessed_lengths(mut self) -> Statistics {
        let symbols = self.literals.iter().sum::<u32>();
        (SHORTEST..=LONGEST).for_each(|length| self.literals[length_code(length).symbol] = symbols / 8 / length as u32);
        self
    }

    /// The count of a literal or a length.
    #[inline(always)]
    fn literal(&mut self, step: Step) -> &mut u32 {
        let length = step.length();
        &mut self.literals[if length == 0 { step.byte().into() } else { length_code(length).symbol }]
    }

    /// Adds the steps of another block.
    pub(super) fn add(&mut self, other: &Statistics) {
        self.literals.iter_mut().zip(&other.literals).for_each(|(sum, count)| *sum += count);
        self.distances.iter_mut().zip(&other.distances).for_each(|(sum, count)| *sum += count);
        self.literals[END] = 1;
    }

    /// Estimates the bits of the block without the extra bits, in units of [`BIT`].
    pub(super) fn cost(&self) -> u64 {
        cost(&Entropy::of(&self.literals), &Entropy::of(&self.distances))
    }

    /// Extra bits of all symbols together.
    pub(super) fn extra_bits(&self) -> u64 {
        let sum = |counts: &[u32], extra: fn(usize) -> u32| {
            counts.iter().enumerate().map(|(symbol, count)| u64::from(*count) * u64::from(extra(symbol))).sum::<u64>()
        };
        sum(&self.literals, literal_extra) + sum(&self.distances, distance_extra)
    }
}

fn cost(literals: &Entropy, distances: &Entropy) -> u64 {
    let header = HEADER + HEADER_SYMBOL * (literals.used + distances.used);
    literals.bits() + distances.bits() + u64::from(header * BIT)
}

/// Statistics whose cost is known after each change.
pub(super) struct Tally {
    statistics: Statistics,
    literals: Entropy,
    distances: Entropy,
}

impl Tally {
    pub(super) fn of(steps: &[Step]) -> Tally {
        let statistics = Statistics::of(steps);
        let literals = Entropy::of(&statistics.literals);
        let distances = Entropy::of(&statistics.distances);
        Tally { statistics, literals, distances }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, step: Step) {
        self.literals.add(self.statistics.literal(step));
        if step.length() > 0 {
            self.distances.add(&mut self.statistics.distances[step.symbol()]);
        }
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, step: Step) {
        self.literals.remove(self.statistics.literal(step));
        if step.length() > 0 {
            self.distances.remove(&mut self.statistics.distances[step.symbol()]);
        }
    }

    /// As [`Statistics::cost`].
    pub(super) fn cost(&self) -> u64 {
        cost(&self.literals, &self.distances)
    }
}

/// What the entropy of counts follows from.
struct Entropy {
    sum: u32,
    /// The sum of each count multiplied by its logarithm.
    logs: u64,
    /// Number of symbols that occur.
    used: u32,
}

impl Entropy {
    fn of(counts: &[u32]) -> Entropy {
        let mut made = Entropy { sum: 0, logs: 0, used: 0 };
        for &count in counts {
            made.sum += count;
            made.logs += weighted(count);
            made.used += u32::from(count > 0);
        }
        made
    }

    #[inline(always)]
    fn add(&mut self, count: &mut u32) {
        self.used += u32::from(*count == 0);
        self.logs -= weighted(*count);
        *count += 1;
        self.logs += weighted(*count);
        self.sum += 1;
    }

    #[inline(always)]
    fn remove(&mut self, count: &mut u32) {
        self.logs -= weighted(*count);
        *count -= 1;
        self.logs += weighted(*count);
        self.used -= u32::from(*count == 0);
        self.sum -= 1;
    }

    /// Bits of all symbols, in units of [`BIT`]. Logarithms are rounded down, that of the sum too.
    #[inline(always)]
    fn bits(&self) -> u64 {
        weighted(self.sum).saturating_sub(self.logs)
    }
}

#[inline(always)]
fn weighted(count: u32) -> u64 {
    u64::from(count) * u64::from(log2(count))
}

/// Prices of steps, in units of [`BIT`].
pub(super) struct Prices {
    pub(super) literals: [u32; 256],
    /// By length, with the extra bits.
    pub(super) lengths: [u32; LENGTH_MASK + 1],
    /// By symbol, with the extra bits.
    distances: [u32; 32],
}

impl Prices {
    /// Prices by the entropy of a block.
    pub(super) fn of_entropy(statistics: &Statistics) -> Prices {
        Prices::new(&prices(&statistics.literals), &prices(&statistics.distances))
    }

    /// Prices by the codes of a block. They differ most where a symbol is so frequent that it should have less than a bit.
    pub(super) fn of_codes(statistics: &Statistics) -> Prices {
        let mut literals = prices(&statistics.literals);
        let mut distances = prices(&statistics.distances);
        let codes = Codes::new(statistics);
        set_lengths(&mut literals, &codes.literals.lengths);
        set_lengths(&mut distances, &codes.distances.lengths);
        Prices::new(&literals, &distances)
    }

    fn new(literals: &[u32; LITERALS], distances: &[u32; DISTANCES]) -> Prices {
        let length = |length: usize| {
            let code = length_code(length.clamp(SHORTEST, LONGEST));
            literals[code.symbol] + code.extra * BIT
        };
        let distance = |symbol: usize| distances.get(symbol).map_or(0, |price| price + distance_extra(symbol) * BIT);
        Prices {
            literals: std::array::from_fn(|byte| literals[byte]),
            lengths: std::array::from_fn(length),
            distances: std::array::from_fn(distance),
        }
    }

    /// The price of a match's distance.
    #[inline(always)]
    pub(super) fn distance(&self, step: Step) -> u32 {
        self.distances[step.symbol()]
    }
}

/// Sets the prices of the symbols that have a code.
fn set_lengths(prices: &mut [u32], lengths: &[u8]) {
    let coded = prices.iter_mut().zip(lengths).filter(|(_, bits)| **bits > 0);
    coded.for_each(|(price, bits)| *price = u32::from(*bits) * BIT);
}

/// The price of each symbol by entropy. A symbol that does not occur costs a bit more than one that occurs once.
fn prices<const N: usize>(counts: &[u32; N]) -> [u32; N] {
    let sum = log2(counts.iter().sum::<u32>().max(1));
    counts.map(|count| if count == 0 { sum + BIT } else { (sum - log2(count)).max(BIT / 2) })
}
