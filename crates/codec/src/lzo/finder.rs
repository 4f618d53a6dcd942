//! Finds earlier occurrences of what stands at each position of a block.
//!
//! Positions are remembered by their first two and three bytes, the latest alone, and by four, six and twelve, the latest four
//! of each. Common beginnings have so many places that only a longer key finds the long matches among them; where the short
//! key finds nothing the longer ones are not asked. What was found at a position goes on, a byte shorter, at the next one, which
//! asks for less the more it has.
//!
//! Positions are kept by their low 16 bits, so that the tables stay in the nearer caches. Whatever they say is compared before
//! it is believed.

use super::effort::Effort;
use super::spot::{Place, Spot, Tally};

/// Bits of the hashes of two bytes, of three, and of more.
const BITS2: u32 = 11;
const BITS3: u32 = 13;
const BITS: u32 = 14;

/// The latest position by a hash.
type Latest<const SIZE: usize> = Box<[u16; SIZE]>;
/// The latest four positions by a hash, the last in the low bits.
type LatestFour = Box<[u64; 1 << BITS]>;

/// Tables of positions, for one block after the other.
pub(super) struct Finder {
    two: Latest<{ 1 << BITS2 }>,
    three: Latest<{ 1 << BITS3 }>,
    four: LatestFour,
    six: LatestFour,
    twelve: LatestFour,
}

/// The search through one block. Positions come in order, each once.
pub(super) struct Search<'a> {
    tables: &'a mut Finder,
    src: &'a [u8],
    /// The position that comes next. What the tables hold are the low bits of those before it, or zeros, which are those of 0.
    at: usize,
}

/// Where the same bytes may have been before.
struct Earlier {
    two: u16,
    three: u16,
    four: u64,
    six: u64,
    twelve: u64,
}

impl Finder {
    /// One that knows nothing.
    pub fn new() -> Finder {
        Finder {
            two: Box::new([0; 1 << BITS2]),
            three: Box::new([0; 1 << BITS3]),
            four: Box::new([0; 1 << BITS]),
            six: Box::new([0; 1 << BITS]),
            twelve: Box::new([0; 1 << BITS]),
        }
    }

    /// Bytes that one takes.
    pub const MEMORY: usize = 2 * ((1 << BITS2) + (1 << BITS3)) + 3 * (8 << BITS);

    /// A search through a block, from its beginning. What was before is forgotten.
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
    /// What there is at the next position. `before`: what the one before it has. Of the keys from four bytes on the first `KEYS`
    /// are used.
    #[inline(always)]
    pub fn next<const KEYS: u32>(&mut self, before: &Spot, effort: &Effort) -> Spot {
        let known = before.rest();
        let Some((place, earlier)) = self.remember::<KEYS>() else { return known };
        let length = known.longest()[2].length();
        let mut tally = Tally::new();
        let mut bits = length as u32;
        // SAFETY: the tables hold the low bits of positions of this block that are not behind this one: `begin` has emptied them,
        // `at` only grows, and nothing else writes to them.
        unsafe {
            if length < effort.four {
                bits |= known.weigh(&mut tally, place, earlier.four << 16 | u64::from(earlier.three));
            }
            if KEYS > 1 && length < effort.six && bits >= effort.six_from {
                bits |= known.weigh(&mut tally, place, earlier.six);
            }
            if KEYS > 2 && length < effort.twelve && bits >= effort.twelve_from {
                known.weigh(&mut tally, place, earlier.twelve);
            }
            known.with(tally).with_two(place, earlier.two)
        }
    }

    /// Goes on to a position behind those that were asked for, and remembers those between.
    pub fn skip_to<const KEYS: u32>(&mut self, at: usize) {
        while self.at < at {
            self.remember::<KEYS>();
        }
    }

    /// Remembers the next position, and where it may have been before, unless it is too near the end.
    #[inline(always)]
    fn remember<const KEYS: u32>(&mut self) -> Option<(Place<'_>, Earlier)> {
        let place = Place::new(self.src, self.at);
        self.at += 1;
        let place = place?;
        let (now, low) = (place.now(), place.low());
        let tables = &mut *self.tables;
        let earlier = Earlier {
            two: std::mem::replace(&mut tables.two[slot(now << 48, BITS2)], low),
            three: std::mem::replace(&mut tables.three[slot(now << 40, BITS3)], low),
            four: push(&mut tables.four, now << 32, low),
            six: if KEYS > 1 { push(&mut tables.six, now << 16, low) } else { 0 },
            twelve: if KEYS > 2 { push(&mut tables.twelve, now ^ spread(place.later()), low) } else { 0 },
        };
        Some((place, earlier))
    }
}

/// Four bytes as a number that has little to do with them.
#[inline(always)]
fn spread(bytes: u64) -> u64 {
    hash(bytes << 32).rotate_left(32)
}

/// Puts a position before the latest with the same hash; those.
#[inline(always)]
fn push(table: &mut LatestFour, key: u64, low: u16) -> u64 {
    let places = &mut table[slot(key, BITS)];
    let earlier = *places;
    *places = earlier << 16 | u64::from(low);
    earlier
}

#[inline(always)]
fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline(always)]
fn slot(key: u64, bits: u32) -> usize {
    (hash(key) >> (64 - bits)) as usize
}
