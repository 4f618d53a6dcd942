//! Finds earlier occurrences, nearest first: rows of the latest positions with the same hash, and a byte more of the hash of
//! each, so that those that are worth a look are known at once and none has to be waited for to find the next.
//!
//! Positions are kept by their low 16 bits, so that the tables stay in the nearest caches: what is told is never farther than
//! 64 KiB, and whatever a place says is compared before it is believed.

use super::common::{four, match_length};
use super::form::{M1_MOST, M4_MOST};
use super::writer::Match;

/// Bits of the hash of two bytes, of three, and of four but for the tag.
const BITS2: u32 = 11;
const BITS3: u32 = 13;
const ROW_BITS: u32 = 11;
/// Positions of a row.
const ROW: usize = 32;
/// Bytes at the end that are never looked at.
const MARGIN: usize = 8;
/// Matches kept of a position, at most: each is longer and farther than the one before it.
pub(super) const MOST: usize = 12;
/// Behind a position with a match this long the next ones need little looking.
const LONG: usize = 24;

/// Matches at one position: each longer and farther than the one before.
#[derive(Clone, Copy)]
pub(super) struct Found {
    matches: [Match; MOST],
    count: usize,
}

/// An index of one block.
pub(super) struct Finder {
    two: Box<[u16; 1 << BITS2]>,
    three: Box<[u16; 1 << BITS3]>,
    rows: Box<[Row; 1 << ROW_BITS]>,
    depth: u32,
    nice: usize,
}

/// The latest positions with the same hash, in a ring.
#[derive(Clone, Copy)]
struct Row {
    /// A byte more of the hash of each.
    tags: [u8; ROW],
    places: [u16; ROW],
    /// Where the next goes.
    next: u16,
}

const EMPTY: Row = Row { tags: [0; ROW], places: [0; ROW], next: 0 };

impl Finder {
    /// A finder that looks at `depth` candidates for each position, and no further once it has `nice` bytes.
    pub fn new(depth: u32, nice: usize) -> Finder {
        Finder {
            two: Box::new([0; 1 << BITS2]),
            three: Box::new([0; 1 << BITS3]),
            rows: Box::new([EMPTY; 1 << ROW_BITS]),
            depth,
            nice,
        }
    }

    /// Bytes that one takes.
    pub const MEMORY: usize = 2 * ((1 << BITS2) + (1 << BITS3)) + (size_of::<Row>() << ROW_BITS);

    /// Forgets the block before.
    pub fn clear(&mut self) {
        self.two.fill(0);
        self.three.fill(0);
        self.rows.fill(EMPTY);
    }

    /// Matches at `at`, which is remembered; positions must come in order, each once. `found` holds those of the position
    /// before.
    #[inline]
    pub fn find(&mut self, src: &[u8], at: usize, found: &mut Found) {
        let before = found.matches().last().copied().filter(|before| before.length > LONG);
        found.count = 0;
        if at + MARGIN >= src.len() {
            return;
        }
        let now = four(src, at);
        let (two, three) = self.remember_short(now, at);
        let mut best = 1;
        if two <= M1_MOST {
            best = consider(src, two, at, best, found);
        }
        if three != two {
            best = consider(src, three, at, best, found);
        }
        let row = &mut self.rows[row_of(now)];
        row.search(src, at, best, if before.is_some() { 1 } else { self.depth }, self.nice, found);
        row.add(now, at);
        let best = found.matches().last().map_or(0, |found| found.length);
        if let Some(before) = before.filter(|before| before.length > best + 1) {
            found.push(Match { length: before.length - 1, distance: before.distance });
        }
    }

    /// Remembers `at` without looking for matches.
    #[inline]
    pub fn skip(&mut self, src: &[u8], at: usize) {
        if at + MARGIN < src.len() {
            let now = four(src, at);
            self.remember_short(now, at);
            self.rows[row_of(now)].add(now, at);
        }
    }

    /// Remembers `at` by two and by three bytes; how far the nearest positions are that may have the same.
    #[inline]
    fn remember_short(&mut self, now: u32, at: usize) -> (usize, usize) {
        let two = std::mem::replace(&mut self.two[hash(now << 16, BITS2)], at as u16);
        let three = std::mem::replace(&mut self.three[hash(now << 8, BITS3)], at as u16);
        (back(at, two), back(at, three))
    }
}

impl Row {
    #[inline]
    fn add(&mut self, now: u32, at: usize) {
        let next = usize::from(self.next) % ROW;
        self.tags[next] = tag_of(now);
        self.places[next] = at as u16;
        self.next = (next as u16 + 1) % ROW as u16;
    }

    /// Looks at the positions with the right tag, the latest first.
    #[inline]
    fn search(&self, src: &[u8], at: usize, mut best: usize, depth: u32, nice: usize, found: &mut Found) {
        let now = four(src, at);
        let next = u32::from(self.next);
        // The highest bit is the latest.
        let mut hits = alike(&self.tags, tag_of(now)).rotate_right(next);
        for _ in 0..depth {
            if hits == 0 || best >= nice {
                return;
            }
            let bit = 31 - hits.leading_zeros();
            hits ^= 1 << bit;
            let distance = back(at, self.places[((bit + next) as usize) % ROW]);
            if distance > M4_MOST || distance > at {
                continue;
            }
            let end = best.max(3) - 3;
            if four(src, at - distance + end) == four(src, at + end) {
                best = consider(src, distance, at, best, found);
            }
        }
    }
}

/// One bit for each byte that is `tag`, and perhaps for one just above such a byte that is another.
#[inline]
fn alike(tags: &[u8; ROW], tag: u8) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut hits = 0;
    for (index, eight) in tags.chunks_exact(8).enumerate() {
        let differing = u64::from_le_bytes(eight.try_into().unwrap_or_default()) ^ (ONES * u64::from(tag));
        let same = differing.wrapping_sub(ONES) & !differing & (ONES << 7);
        // The product gathers the eight bits in the highest byte.
        let bits = (same >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        hits |= (bits as u32) << (8 * index);
    }
    hits
}

#[inline]
fn hash(bytes: u32, bits: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

#[inline]
fn row_of(bytes: u32) -> usize {
    hash(bytes, ROW_BITS)
}

#[inline]
fn tag_of(bytes: u32) -> u8 {
    (bytes.wrapping_mul(0x9e37_79b1) >> (32 - ROW_BITS - 8)) as u8
}

/// How far before `at` the last position is that ends with these 16 bits; too far if they are its own.
#[inline]
fn back(at: usize, place: u16) -> usize {
    match (at as u16).wrapping_sub(place) {
        0 => usize::MAX,
        distance => distance.into(),
    }
}

/// Notes a candidate if it is longer than the best so far; the best length now.
#[inline]
fn consider(src: &[u8], distance: usize, at: usize, best: usize, found: &mut Found) -> usize {
    if distance > at || distance > M4_MOST {
        return best;
    }
    let length = match_length(src, at - distance, at);
    let useful = length > 2 || (length == 2 && distance <= M1_MOST);
    if length <= best || !useful || found.count == MOST {
        return best;
    }
    found.push(Match { length, distance });
    length
}

impl Found {
    /// None.
    pub fn new() -> Found {
        Found { matches: [Match { length: 0, distance: 0 }; MOST], count: 0 }
    }

    /// The matches.
    #[inline]
    pub fn matches(&self) -> &[Match] {
        &self.matches[..self.count]
    }

    #[inline]
    fn push(&mut self, found: Match) {
        if let Some(place) = self.matches.get_mut(self.count) {
            *place = found;
            self.count += 1;
        }
    }
}
