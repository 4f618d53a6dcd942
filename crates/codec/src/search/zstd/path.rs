//! The cheapest path through a chunk.
//!
//! From each position, in order, a path continues with a literal, or with a match of a candidate's length or less. The cheapest way to
//! arrive at a position is kept. Which distances are repeats depends on the path; they are those of the cheapest path to the position.

use super::codes::{LENGTHS, Repeats, SHORTEST, Sequence, length_code};
use super::parts::Part;
use super::prices::{MANY, Prices};
use super::statistics::Statistics;
use crate::bytes::bounded_match_length;
use crate::search::candidates::{Candidate, LARGEST_LOG, LONGEST, Matches};
use crate::search::load_position::LoadPosition;

/// Number of lengths processed together.
const LANES: usize = 8;
type Lanes = [u32; LANES];
/// [`LANES`] elements before a position, the position, and as many as a match reaches.
const WINDOW: usize = LONGEST + 1 + 2 * LANES;
type Window = [u32; WINDOW];
/// Matches up to this length are offered with each length. Longer matches are also offered with the [`LANES`] longest lengths.
const EACH: usize = SHORTEST + LANES - 1;

/// How a path arrives at a position: the price in the high bits, so that the minimum is the cheapest, then the length of the match and its
/// choice. 0 is a literal, once the position is visited.
type Arrival = u32;
const PRICE: u32 = 14;
const LENGTH: u32 = 3;
const UNREACHED: Arrival = Arrival::MAX;
/// Choices: 0 to 2 are repeats (after a match: the second, the third, and the first, which continues it), then the continued candidate,
/// then the candidates found at the position.
const CONTINUED: u32 = 3;
const FOUND: u32 = 4;

/// If a price is higher than this, it and all later prices are lowered by [`LOWERED`].
const HIGH: u32 = 1 << 17;
const LOWERED: u32 = 1 << 16;
/// The price of arriving at the first position. It is not 0, because another literal may cost less than nothing.
const START: u32 = 1 << 12;
/// More than any price.
const INFINITE: u32 = UNREACHED >> PRICE;

/// Three distances, the latest in the low bits.
const DISTANCE: u64 = (1 << LARGEST_LOG) - 1;
/// This bit above the distances is set where a match ends, because the next match cannot choose the first distance.
const AFTER_MATCH: u32 = 3 * LARGEST_LOG;
const DISTANCES: u64 = (1 << AFTER_MATCH) - 1;

/// For each length up to [`EACH`]: all bits set in the lanes of longer matches.
static LONGER: [Lanes; EACH + 1] = longer();

const fn longer() -> [Lanes; EACH + 1] {
    let mut all = [[0; LANES]; EACH + 1];
    let mut index = 0;
    while index < (EACH + 1) * LANES {
        let length = index / LANES;
        let lane = index % LANES;
        if SHORTEST + lane > length {
            all[length][lane] = u32::MAX;
        }
        index += 1;
    }
    all
}

/// Input of the search for a path.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) src: &'a [u8],
    /// First byte of the chunk in `src`, and its number of bytes.
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) found: Matches<'a>,
    pub(super) parts: &'a [Part],
    pub(super) repeats: Repeats,
    /// A match of at least this length is used without comparing others.
    pub(super) nice: usize,
    /// Matches are not offered at a position if a match that began earlier arrives at the next position for at most this much more.
    pub(super) covered: Option<u32>,
}

impl Chunk<'_> {
    /// Statistics of all parts.
    fn whole(&self) -> Statistics {
        let mut whole = Statistics::none();
        for part in self.parts {
            whole.add(&part.statistics);
        }
        whole
    }
}

pub(super) struct Path {
    prices: Prices,
    /// The price of each length together with the length, as an [`Arrival`], after [`LANES`] unused elements.
    steps: Box<Window>,
    /// After [`LANES`] unused elements.
    arrivals: Vec<Arrival>,
    distances: Vec<u64>,
}

/// The walk through a chunk. Only functions that are inlined borrow the walk, so that its fields stay in registers.
struct Walk<'a> {
    chunk: &'a Chunk<'a>,
    prices: &'a mut Prices,
    steps: &'a mut Window,
    arrivals: &'a mut [Arrival],
    /// The last distances of the cheapest path to each position that was visited.
    settled: &'a mut [u64],
    at: usize,
    /// Literals since the last match.
    literals: usize,
    /// Whether the path arrives at the position by a match of [`LONGEST`] bytes.
    is_longest: bool,
    /// The price of arriving by a literal.
    by_literal: u32,
    distances: u64,
    /// No match arrives at this position or later.
    reach: usize,
}

impl Path {
    pub(super) fn new() -> Path {
        let steps = Box::new([0; WINDOW]);
        Path { prices: Prices::new(), steps, arrivals: Vec::new(), distances: Vec::new() }
    }

    /// Memory for chunks of `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        size_of::<Prices>() + WINDOW * 4 + (size + WINDOW) * 4 + (size + 1) * 8
    }

    /// Finds the cheapest path. Returns the repeats after it.
    pub(super) fn find(&mut self, chunk: &Chunk, out: &mut Vec<Sequence>) -> Repeats {
        self.arrivals.clear();
        self.arrivals.resize(chunk.size + WINDOW, UNREACHED);
        self.distances.resize(chunk.size + 1, 0);
        self.walk(chunk).run();
        self.trace(chunk, out)
    }

    fn walk<'a>(&'a mut self, chunk: &'a Chunk) -> Walk<'a> {
        let Path { prices, steps, arrivals, distances: settled } = self;
        let distances = pack(chunk.repeats);
        Walk {
            chunk,
            prices,
            steps,
            arrivals,
            settled,
            at: 0,
            literals: 0,
            is_longest: false,
            by_literal: START,
            distances,
            reach: 0,
        }
    }

    /// Follows the path back from the end.
    fn trace(&self, chunk: &Chunk, out: &mut Vec<Sequence>) -> Repeats {
        out.clear();
        let mut at = chunk.size;
        let mut later = Sequence::default();
        while at > 0 {
            let arrival = self.arrivals[LANES + at];
            if arrival == 0 {
                later.literals += 1;
                at -= 1;
                continue;
            }
            let (length, distance) = resolve(&self.distances, chunk.found, at, arrival);
            at -= length;
            if later.literals == 0 && later.distance == distance {
                // This match continues one that is longer than LONGEST.
                later.length += length as u32;
                continue;
            }
            out.push(std::mem::replace(&mut later, Sequence { literals: 0, length: length as u32, distance }));
        }
        out.push(later);
        out.reverse();
        // The literals after the last match are not part of a sequence.
        out.pop();
        unpack(self.distances[chunk.size])
    }
}

impl Walk<'_> {
    /// Visits all positions, and then the end.
    fn run(self) {
        #[cfg(target_arch = "x86_64")]
        if crate::processor::has_avx2_and_bmi() {
            // SAFETY: the processor has these instructions.
            return unsafe { self.run_avx2() };
        }
        self.run_any();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn run_avx2(self) {
        self.run_any();
    }

    #[inline(always)]
    fn run_any(mut self) {
        let chunk = self.chunk;
        let whole = chunk.whole();
        let mut parts = chunk.parts.iter();
        let mut end = 0;
        while self.at < chunk.size {
            while self.at >= end {
                let Some(part) = parts.next() else { return };
                end = part.end;
                if self.at < end {
                    enter(self.prices, self.steps, part, &whole);
                }
            }
            let price = self.arrive();
            let longest = if self.is_covered(price) { 0 } else { self.leave(price) };
            if longest >= chunk.nice {
                self.at += longest;
                self.by_literal = INFINITE;
                continue;
            }
            let byte = chunk.src[chunk.start + self.at];
            let more = self.prices.more[self.literals % MANY];
            self.by_literal = price.wrapping_add(self.prices.literal[usize::from(byte)]).wrapping_add(more);
            self.literals = (self.literals + 1).min(MANY - 1);
            self.at += 1;
        }
        self.arrive();
    }

    /// Settles the cheaper way to arrive at the current position. Returns its price.
    #[inline(always)]
    fn arrive(&mut self) -> u32 {
        let arrival = self.arrivals[LANES + self.at];
        let mut price = arrival >> PRICE;
        if self.by_literal <= price {
            price = self.by_literal;
            self.arrivals[LANES + self.at] = 0;
            self.is_longest = false;
        } else {
            let (length, distance) = resolve(self.settled, self.chunk.found, self.at, arrival);
            self.distances = push_distance(self.settled[self.at - length] & DISTANCES, distance.into());
            self.literals = 0;
            self.is_longest = length == LONGEST;
        }
        if price > HIGH {
            lower(self.arrivals, self.at + 1, self.reach);
            price -= LOWERED;
        }
        self.settled[self.at] = self.distances | u64::from(self.is_after_match()) << AFTER_MATCH;
        price
    }

    /// Whether a match ends at the current position.
    #[inline(always)]
    fn is_after_match(&self) -> bool {
        self.literals == 0 && self.at > 0
    }

    /// Whether the matches at the current position hardly matter, because a match that began earlier arrives at the next position for
    /// about the same price. A match that is used without comparing others always matters: no position inside it has candidates.
    #[inline(always)]
    fn is_covered(&self, price: u32) -> bool {
        let next = self.arrivals[LANES + self.at + 1] >> PRICE;
        self.chunk.covered.is_some_and(|more| next <= price + more)
            && !self.is_longest
            && self.chunk.found.longest(self.at) < self.chunk.nice
    }

    /// Offers the matches at the current position. Returns the length of the longest.
    #[inline(always)]
    fn leave(&mut self, price: u32) -> usize {
        let Walk { chunk, at, .. } = *self;
        let rest = chunk.size - at;
        let price = price << PRICE;
        let Some(window) = self.arrivals[at..].first_chunk_mut::<WINDOW>() else { return 0 };
        let mut offers = Offers { prices: self.prices, steps: self.steps, window, longest: 0 };
        let after_match = self.literals == 0 && at > 0;
        offers.repeats(chunk, at, &Last { distances: self.distances, after_match, price, rest });
        if self.is_longest {
            let length = rest_of_longest(chunk, at, distance_of(self.distances, 0), rest);
            if length >= SHORTEST {
                offers.offer(length, price | (CONTINUED - 1));
            }
        }
        let continued = chunk.found.continued(at);
        if continued.length() > 0 {
            offers.match_at(continued, rest, price | CONTINUED);
        }
        for (choice, candidate) in (FOUND..).zip(chunk.found.at(at)) {
            offers.match_at(*candidate, rest, price | choice);
        }
        let longest = offers.longest;
        self.reach = self.reach.max(at + longest + 1);
        longest
    }
}

/// The path up to a position.
struct Last {
    distances: u64,
    after_match: bool,
    /// The price of arriving, as an [`Arrival`].
    price: u32,
    /// Bytes up to the end of the chunk.
    rest: usize,
}

/// The matches offered at a position.
struct Offers<'a> {
    prices: &'a Prices,
    steps: &'a Window,
    /// The arrivals at the position and the next ones, after [`LANES`] earlier ones.
    window: &'a mut Window,
    longest: usize,
}

impl Offers<'_> {
    /// Offers matches at the last distances of the path. A match that began earlier is not offered again, except after another match.
    #[inline(always)]
    fn repeats(&mut self, chunk: &Chunk, at: usize, last: &Last) {
        let at = chunk.start + at;
        // The first distances of a frame are 1, 4 and 8.
        let Some(before) = at.checked_sub(1).filter(|before| *before >= 8) else { return };
        let Some(before) = LoadPosition::new(chunk.src, before) else { return };
        let after_match = u32::from(last.after_match);
        let distances = [0, 1, 2].map(|index| distance_of(last.distances, (index + after_match).min(2)));
        let now = before.first_eight();
        let differing = distances.map(|distance| before.eight_back_or_first(distance) ^ now);
        // The previous byte must differ, then three bytes must be equal.
        let (least, count) = if last.after_match { (0, 256) } else { (1, 255) };
        let is_new = |differing: u64| (differing as u32).wrapping_sub(least) < count;
        if !differing.into_iter().any(is_new) {
            return;
        }
        for (choice, (differing, distance)) in (0..3 - after_match).zip(differing.into_iter().zip(distances)) {
            if is_new(differing) {
                let length = (differing >> 8).trailing_zeros() as usize / 8;
                let further = || before.match_length(distance, 8, LONGEST + 1) - 1;
                let length = if length < 8 { length } else { further() };
                let price = self.prices.distance[usize::from(choice > 0)] << PRICE;
                self.offer(length.min(last.rest).min(LONGEST), (last.price | choice).wrapping_add(price));
            }
        }
    }

    /// Offers a candidate. `base` is the price of arriving and the choice.
    #[inline(always)]
    fn match_at(&mut self, candidate: Candidate, rest: usize, base: u32) {
        let price = self.prices.of_distance(candidate.distance()) << PRICE;
        self.offer(candidate.length().min(rest), base.wrapping_add(price));
    }

    /// Offers a match of up to `length` bytes. `base` is the price of its distance and of all before it, and its choice.
    #[inline(always)]
    fn offer(&mut self, length: usize, base: u32) {
        self.longest = self.longest.max(length);
        self.improve(LANES + SHORTEST, base, &LONGER[length.min(EACH)]);
        if length > EACH {
            self.improve((length & LONGEST) + 1, base, &LONGER[EACH]);
        }
    }

    /// Keeps the cheaper arrivals in the lanes from `first` on, except in lanes with all bits set.
    #[inline(always)]
    fn improve(&mut self, first: usize, base: u32, except: &Lanes) {
        let steps = self.steps[first..].first_chunk::<LANES>();
        let arrivals = self.window[first..].first_chunk_mut::<LANES>();
        if let (Some(&steps), Some(arrivals)) = (steps, arrivals) {
            // The lanes are copied because the compiler does not vectorise the loop otherwise.
            let mut lanes = *arrivals;
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].min(steps[lane].wrapping_add(base) | except[lane]);
            }
            *arrivals = lanes;
        }
    }
}

/// Sets the prices of a part.
#[inline(never)]
fn enter(prices: &mut Prices, steps: &mut Window, part: &Part, whole: &Statistics) {
    prices.set(&part.statistics, whole);
    let codes: &[u32; LENGTHS] = &prices.length;
    for (length, step) in steps[LANES..=LANES + LONGEST].iter_mut().enumerate().skip(SHORTEST) {
        *step = codes[length_code(length as u32)] << PRICE | (length as u32) << LENGTH;
    }
}

/// Lowers the prices of arriving at the positions from `first` to `end`, which are not settled.
#[cold]
fn lower(arrivals: &mut [Arrival], first: usize, end: usize) {
    let open = arrivals.get_mut(LANES + first..LANES + end).unwrap_or_default();
    for arrival in open.iter_mut().filter(|arrival| **arrival != UNREACHED) {
        *arrival = arrival.saturating_sub(LOWERED << PRICE);
    }
}

/// The length of the rest of a match of more than [`LONGEST`] bytes. It has the same distance and belongs to the same sequence.
#[cold]
fn rest_of_longest(chunk: &Chunk, at: usize, distance: usize, rest: usize) -> usize {
    let at = chunk.start + at;
    bounded_match_length(chunk.src, at - distance, at, rest.min(LONGEST))
}

/// The length and the distance of the match that arrives at a position.
#[inline(always)]
fn resolve(settled: &[u64], found: Matches, at: usize, arrival: Arrival) -> (usize, u32) {
    let length = (arrival >> LENGTH) as usize & LONGEST;
    let from = at - length;
    let choice = arrival & ((1 << LENGTH) - 1);
    let distance = match choice {
        0..CONTINUED => {
            let before = settled[from];
            distance_of(before, (choice + (before >> AFTER_MATCH) as u32) % 3) as u32
        }
        CONTINUED => found.continued(from).distance(),
        _ => found.at(from)[(choice - FOUND) as usize].distance(),
    };
    (length, distance)
}

fn pack(repeats: Repeats) -> u64 {
    repeats.distances().into_iter().rev().fold(0, |all, distance| all << LARGEST_LOG | u64::from(distance))
}

fn unpack(distances: u64) -> Repeats {
    Repeats::new([0, 1, 2].map(|index| distance_of(distances, index) as u32))
}

#[inline(always)]
fn distance_of(distances: u64, index: u32) -> usize {
    (distances >> (LARGEST_LOG * index) & DISTANCE) as usize
}

/// The distances after a match at `distance`, which becomes the first.
#[inline(always)]
fn push_distance(distances: u64, distance: u64) -> u64 {
    let first = distances & DISTANCE;
    let second = distances >> LARGEST_LOG & DISTANCE;
    let swapped = distances & !(DISTANCE << LARGEST_LOG | DISTANCE) | first << LARGEST_LOG | distance;
    let added = (distances << LARGEST_LOG | distance) & DISTANCES;
    match distance {
        distance if distance == first => distances,
        distance if distance == second => swapped,
        _ => added,
    }
}
