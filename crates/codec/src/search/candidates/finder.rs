//! Finds candidates by hashes.

use std::iter::successors;
use std::ops::Range;

use super::list::{Candidate, CandidateList, SPARE, Spare};
use super::{AHEAD, LARGEST_LOG, LONGEST, prefetch};
use crate::bytes::{slot, spread};
use crate::search::load_position::{LOADABLE, LoadPosition};

/// Keys of three bytes reach at most this far back. Farther matches of three bytes cost as much as they save.
const NEAR: usize = 1 << 14;

/// Number of the latest positions whose earlier position is remembered.
const REMEMBERED: usize = 1 << 17;
/// Maximum number of positions that are compared in addition to those of the rows.
const MAX_EARLIER: usize = 16;
/// Bytes of the longest key.
const KEY: u32 = 12;

const POSITION: u64 = (1 << LARGEST_LOG) - 1;
/// Positions of a row.
const ROW: usize = 3;

/// Limits of the search by hashes. Lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Hash bits of the tables.
    pub(crate) bits: u32,
    /// Limits for the keys of four, six and twelve bytes. A key is looked up where the continued match is shorter.
    pub(crate) four: u32,
    pub(crate) six: u32,
    pub(crate) twelve: u32,
    /// Positions inside a match of at least this length are not searched, except the first [`LEAD`] ones. Has no effect from `nice` on.
    pub(crate) covering: usize,
    /// A match of at least this length is used without comparing others.
    pub(crate) nice: usize,
}

/// Number of positions that are searched at the start of a match which covers the others. A better match often begins there.
const LEAD: usize = 3;

/// Tables of positions, used for one block after another.
pub(crate) struct Finder {
    effort: Effort,
    /// Largest distance in bytes.
    farthest: usize,
    three: Table,
    four: Table,
    six: Table,
    twelve: Table,
    /// For each of the latest positions, the previous position with the same first twelve bytes.
    earlier: Box<[u32; REMEMBERED]>,
    /// The number that the tables hold for the first position of the block. Lower numbers are positions of earlier blocks, or the zeros of
    /// cleared tables. Both count as the first position, so that the result does not depend on earlier blocks.
    base: usize,
    /// The number that the tables will hold for the first position of the next block.
    next: usize,
}

const _: () = assert!(1 + 3 * ROW + MAX_EARLIER < SPARE);

/// The slots of a position in the four tables.
type Slots = [usize; 4];
/// The latest positions of a hash, the latest in the low bits.
type Row = u64;

/// The matches at a position.
struct Tally<'a> {
    here: LoadPosition<'a>,
    /// The number that the tables hold for the position.
    position: usize,
    /// Largest distance in bytes.
    farthest: usize,
    /// Length of the continued match in bytes.
    known: u32,
    known_distance: usize,
    /// Longest of the matches found here in bytes.
    longest: u32,
    found: &'a mut Spare,
    count: usize,
}

impl Finder {
    /// A finder of matches at most `farthest` bytes back.
    pub(super) fn new(effort: Effort, farthest: usize) -> Finder {
        let table = || Table::new(effort.bits);
        let [three, four, six, twelve] = [(); 4].map(|()| table());
        Finder { effort, farthest, three, four, six, twelve, earlier: Box::new([0; REMEMBERED]), base: 0, next: 0 }
    }

    /// Memory in bytes.
    pub(crate) fn memory(effort: &Effort) -> usize {
        ((4 * size_of::<u64>()) << effort.bits) + REMEMBERED * size_of::<u32>()
    }

    /// Starts a block of `size` bytes, at most 2^[`LARGEST_LOG`].
    pub(crate) fn begin(&mut self, size: usize) {
        if self.next + size > 1 << LARGEST_LOG {
            for table in [&mut self.three, &mut self.four, &mut self.six, &mut self.twelve] {
                table.clear();
            }
            self.next = 0;
        }
        self.base = self.next;
        self.next += size;
    }

    /// Finds the candidates of a part of the block. The caller passes parts in order, from the start of the block.
    #[inline(never)]
    pub(crate) fn find(&mut self, src: &[u8], part: Range<usize>, found: &mut CandidateList) {
        found.clear(part.len());
        let end = part.end.min((src.len() + 1).saturating_sub(LOADABLE));
        let mut ahead = [[0; 4]; AHEAD];
        for at in part.start..(part.start + AHEAD).min(end) {
            ahead[at % AHEAD] = self.look_ahead(src, at);
        }
        let mut best = Candidate::default();
        let mut at = part.start;
        // The positions that are not searched.
        let mut covered = 0..0;
        while let Some(here) = LoadPosition::new(src, at).filter(|_| at < end) {
            let slots = std::mem::replace(&mut ahead[at % AHEAD], self.look_ahead(src, at + AHEAD));
            if covered.contains(&at) {
                best = best.rest();
                self.remember(slots, at);
                found.add(best, 0);
                at += 1;
                continue;
            }
            best = self.search(here, slots, best.rest(), found);
            if best.length() >= self.effort.covering && at + best.length() > covered.end {
                covered.start = if at < covered.end { covered.start } else { at + LEAD };
                covered.end = at + best.length();
            }
            at += 1;
            if best.length() < self.effort.nice {
                continue;
            }
            let inside = (at + best.length() - 1).min(part.end) - at;
            found.add_none(inside);
            for at in at..(at + inside).min(end) {
                let slots = std::mem::replace(&mut ahead[at % AHEAD], self.look_ahead(src, at + AHEAD));
                self.remember(slots, at);
            }
            at += inside;
            best = Candidate::default();
        }
        found.add_none(part.end.saturating_sub(at));
        found.finish();
    }

    /// Adds the position to the tables and its candidates to `found`. Returns the longest match.
    #[inline(always)]
    fn search(
        &mut self,
        here: LoadPosition,
        slots: Slots,
        continued: Candidate,
        found: &mut CandidateList,
    ) -> Candidate {
        let [three, four, six, twelve] = self.remember(slots, here.at());
        let known = continued.length() as u32;
        let Some(spare) = found.spare() else { return continued };
        let position = self.base + here.at();
        let farthest = here.at().min(self.farthest);
        let known_distance = continued.distance() as usize;
        let mut tally = Tally { here, position, farthest, known, known_distance, longest: 2, found: spare, count: 0 };
        if known < self.effort.four {
            let near = tally.distance(three);
            if near < NEAR {
                tally.weigh(near);
            }
            tally.weigh_row(four);
            if tally.longest >= 4 && known < self.effort.six {
                tally.weigh_more(six, four, self.base);
                if tally.longest >= 6 {
                    tally.weigh_more(twelve, six, self.base);
                }
            }
        } else if known < self.effort.six {
            tally.weigh_row(six);
            tally.weigh_more(twelve, six, self.base);
        } else if known < self.effort.twelve {
            tally.weigh_row(twelve);
        }
        if known <= KEY && tally.longest >= KEY {
            for distance in self.earlier_with_same_key(position, oldest(twelve)).take(MAX_EARLIER) {
                tally.weigh(distance);
            }
        }
        let count = tally.count;
        // Each match that is kept is longer than those before.
        let best = if tally.longest > known.max(2) { tally.found[(count - 1) % SPARE] } else { continued };
        found.add(continued, count);
        best
    }

    /// The positions before `oldest` with the same first twelve bytes, from the latest on, as distances from `position`.
    fn earlier_with_same_key(&self, position: usize, oldest: usize) -> impl Iterator<Item = usize> {
        let earlier = move |&there: &usize| {
            let is_remembered = there > self.base && position - there < REMEMBERED;
            let earlier = if is_remembered { self.earlier[there % REMEMBERED] as usize } else { 0 };
            (earlier > self.base && position - earlier <= self.farthest).then_some(earlier)
        };
        successors(Some(oldest), earlier).skip(1).map(move |earlier| position - earlier)
    }

    #[inline(always)]
    fn remember(&mut self, [three, four, six, twelve]: Slots, at: usize) -> [Row; 4] {
        let position = (self.base + at) as u32;
        let twelve = self.twelve.push(twelve, position);
        self.earlier[position as usize % REMEMBERED] = (twelve & POSITION) as u32;
        [self.three.push(three, position), self.four.push(four, position), self.six.push(six, position), twelve]
    }

    /// Returns the slots of a position and loads their rows.
    #[inline(always)]
    fn look_ahead(&self, src: &[u8], at: usize) -> Slots {
        let Some(here) = LoadPosition::new(src, at) else { return [0; 4] };
        let now = here.first_eight();
        let bits = self.effort.bits;
        let later = spread(here.second_eight());
        let slots = [slot(now << 40, bits), slot(now << 32, bits), slot(now << 16, bits), slot(now ^ later, bits)];
        for (table, slot) in [&self.three, &self.four, &self.six, &self.twelve].into_iter().zip(slots) {
            table.prefetch(slot);
        }
        slots
    }
}

/// The latest positions of each hash, in rows of three.
struct Table {
    rows: Box<[Row]>,
}

impl Table {
    fn new(bits: u32) -> Table {
        Table { rows: vec![0; 1 << bits].into_boxed_slice() }
    }

    fn clear(&mut self) {
        self.rows.fill(0);
    }

    /// Adds the latest position of a hash. Returns the positions before it.
    #[inline(always)]
    fn push(&mut self, slot: usize, position: u32) -> Row {
        let row = &mut self.rows[slot];
        let before = *row;
        *row = before << LARGEST_LOG | u64::from(position);
        before
    }

    /// Loads a row ahead of its use.
    #[inline(always)]
    fn prefetch(&self, slot: usize) {
        prefetch(&self.rows, slot);
    }
}

/// The oldest position of a row.
#[inline(always)]
fn oldest(row: Row) -> usize {
    (row >> (LARGEST_LOG * (ROW as u32 - 1)) & POSITION) as usize
}

impl Tally<'_> {
    /// The distance of the latest position of a row.
    #[inline(always)]
    fn distance(&self, row: Row) -> usize {
        (self.position - (row & POSITION) as usize).min(self.farthest)
    }

    #[inline(always)]
    fn weigh_row(&mut self, row: Row) {
        // A loop here is not unrolled.
        self.weigh(self.distance(row));
        self.weigh(self.distance(row >> LARGEST_LOG));
        self.weigh(self.distance(row >> (2 * LARGEST_LOG)));
    }

    /// Compares the positions of a row after those of a row with a shorter key. The latter has all later positions that match.
    #[inline(always)]
    fn weigh_more(&mut self, row: Row, shorter: Row, base: usize) {
        if oldest(shorter) > base && oldest(row) < oldest(shorter) {
            self.weigh_row(row);
        }
    }

    /// Keeps a match at `distance`, which is at most the position. The match must be longer than those before, and longer than the
    /// continued match if that is at most as far away.
    #[inline(always)]
    fn weigh(&mut self, distance: usize) {
        // SAFETY: a distance is at most the position.
        let differing = unsafe { self.here.eight_back(distance) } ^ self.here.first_eight();
        let least = if distance >= self.known_distance { self.longest.max(self.known) } else { self.longest };
        let length = if differing == 0 { long(self.here, distance, least) } else { differing.trailing_zeros() / 8 };
        let is_more = length > least;
        self.found[self.count % SPARE] = Candidate::new(length, distance);
        self.count += usize::from(is_more);
        self.longest = if is_more { length } else { self.longest };
    }
}

/// Returns the length of a match of at least eight bytes; 0 if it is not longer than `least`, or the distance is 0.
fn long(here: LoadPosition, distance: usize, least: u32) -> u32 {
    if distance == 0 || !here.is_equal_until(distance, (least as usize + 1).max(8)) {
        return 0;
    }
    here.match_length(distance, 8, LONGEST) as u32
}
