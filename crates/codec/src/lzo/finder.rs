//! Finds earlier occurrences of the bytes at each position of a block.
//!
//! Positions are indexed by their first two and three bytes (only the latest position), and by their first four, six and twelve bytes (the
//! latest four positions of each). Common prefixes occur so often that only a longer key finds the long matches among them. If the short
//! key finds nothing, the longer keys are skipped. A match found at a position continues, a byte shorter, at the next one. The longer that
//! match is, the less the next position is searched.
//!
//! Positions are stored as their low 16 bits, so that the tables fit the inner caches. Every candidate is compared before use.

use super::position_matches::{PositionMatches, Tally};
use crate::bytes::{slot, spread};
use crate::search::load_position::LoadPosition;

/// Hash bits of two bytes, of three, and of more.
const BITS2: u32 = 11;
const BITS3: u32 = 13;
const BITS: u32 = 14;

/// Minimum number of bytes from an indexed position to the end of the block.
const MARGIN: usize = 24;

/// The latest position by hash.
type Latest<const SIZE: usize> = Box<[u16; SIZE]>;
/// The latest four positions by hash, the newest one in the low bits.
type LatestFour = Box<[u64; 1 << BITS]>;

/// Tables of positions, reused for each block.
pub(super) struct Finder {
    two: Latest<{ 1 << BITS2 }>,
    three: Latest<{ 1 << BITS3 }>,
    four: LatestFour,
    six: LatestFour,
    twelve: LatestFour,
}

/// The search through one block. Each position is visited once, in order.
pub(super) struct Search<'a> {
    tables: &'a mut Finder,
    src: &'a [u8],
    /// The next position. The tables hold the low bits of earlier positions, or zeros, which mean position 0.
    at: usize,
}

struct EarlierPositions {
    two: u16,
    three: u16,
    four: u64,
    six: u64,
    twelve: u64,
}

impl Finder {
    pub fn new() -> Finder {
        Finder {
            two: Box::new([0; 1 << BITS2]),
            three: Box::new([0; 1 << BITS3]),
            four: Box::new([0; 1 << BITS]),
            six: Box::new([0; 1 << BITS]),
            twelve: Box::new([0; 1 << BITS]),
        }
    }

    /// Memory of a finder in bytes.
    pub const MEMORY: usize = 2 * ((1 << BITS2) + (1 << BITS3)) + 3 * (8 << BITS);

    /// Starts a search through a block, with cleared tables.
    pub fn begin<'a>(&'a mut self, src: &'a [u8]) -> Search<'a> {
        self.two.fill(0);
        self.three.fill(0);
        for table in [&mut self.four, &mut self.six, &mut self.twelve] {
            table.fill(0);
        }
        Search { tables: self, src, at: 0 }
    }
}

impl Search<'_> {
    /// Returns the matches at the next position. `before` are the matches at the previous one. The first `KEYS` of the keys of four, six
    /// and twelve bytes are used.
    #[inline(always)]
    pub fn next<const KEYS: u32>(&mut self, before: &PositionMatches, effort: &Effort) -> PositionMatches {
        let known = before.rest();
        let Some((here, earlier)) = self.remember::<KEYS>() else { return known };
        let length = known.longest()[2].length();
        let mut tally = Tally::new();
        let mut bits = length as u32;
        // SAFETY: the tables hold the low bits of positions of this block that are not after this one: `begin` cleared them, `at` only
        // grows, and nothing else writes to them.
        unsafe {
            if length < effort.four {
                bits |= known.weigh(&mut tally, here, earlier.four << 16 | u64::from(earlier.three));
            }
            if KEYS > 1 && length < effort.six && bits >= effort.six_from {
                bits |= known.weigh(&mut tally, here, earlier.six);
            }
            if KEYS > 2 && length < effort.twelve && bits >= effort.twelve_from {
                known.weigh(&mut tally, here, earlier.twelve);
            }
            known.with(tally).with_two(here, earlier.two)
        }
    }

    /// Continues at a later position, and indexes the positions between.
    pub fn skip_to<const KEYS: u32>(&mut self, at: usize) {
        while self.at < at {
            self.remember::<KEYS>();
        }
    }

    /// Indexes the next position and returns its candidates, unless it is too near the end.
    #[inline(always)]
    fn remember<const KEYS: u32>(&mut self) -> Option<(LoadPosition<'_>, EarlierPositions)> {
        let position = LoadPosition::new(self.src, self.at).filter(|_| self.at + MARGIN <= self.src.len());
        self.at += 1;
        let here = position?;
        let now = here.first_eight();
        let low = here.at() as u16;
        let tables = &mut *self.tables;
        let earlier = EarlierPositions {
            two: std::mem::replace(&mut tables.two[slot(now << 48, BITS2)], low),
            three: std::mem::replace(&mut tables.three[slot(now << 40, BITS3)], low),
            four: push(&mut tables.four, now << 32, low),
            six: if KEYS > 1 { push(&mut tables.six, now << 16, low) } else { 0 },
            twelve: if KEYS > 2 { push(&mut tables.twelve, now ^ spread(here.second_eight()), low) } else { 0 },
        };
        Some((here, earlier))
    }
}

/// Inserts a position as the newest of its hash. Returns the previous four.
#[inline(always)]
fn push(table: &mut LatestFour, key: u64, low: u16) -> u64 {
    let places = &mut table[slot(key, BITS)];
    let earlier = *places;
    *places = earlier << 16 | u64::from(low);
    earlier
}

/// Search limits of a level. Lengths are in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// How many of the keys of four, six and twelve bytes are used, 1 to 3.
    pub keys: u32,
    /// Limits for the keys of four, six and twelve bytes. A key is looked up where the continued match is shorter.
    pub four: usize,
    pub six: usize,
    pub twelve: usize,
    /// A longer key is looked up where the shorter keys found at least this length. (The lengths are combined by bitwise or.)
    pub six_from: u32,
    pub twelve_from: u32,
    /// A match of at least this length is used without comparing others.
    pub nice: usize,
}

impl Effort {
    /// The limits of a level of `lzo1x_999`, 1 to 9.
    pub fn new(level: u32) -> Effort {
        let effort = |keys, [four, six, twelve]: [usize; 3], [six_from, twelve_from]: [u32; 2], nice| Effort {
            keys,
            four,
            six,
            twelve,
            six_from,
            twelve_from,
            nice,
        };
        match level {
            ..=1 => effort(1, [4, 0, 0], [0, 0], 16),
            2 => effort(1, [6, 0, 0], [0, 0], 24),
            3 => effort(1, [12, 0, 0], [0, 0], 32),
            4 => effort(2, [6, 12, 0], [6, 0], 32),
            5 => effort(2, [8, 16, 0], [4, 0], 48),
            6 => effort(3, [8, 8, 24], [5, 6], 64),
            7 => effort(3, [8, 8, 32], [4, 6], 64),
            8 => effort(3, [8, 10, 64], [4, 6], 96),
            _ => effort(3, [usize::MAX; 3], [0, 0], usize::MAX),
        }
    }
}
