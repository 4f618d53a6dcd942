//! The longest match at a position within each distance class of LZO.

use super::four::U32x4;
use super::writer::{M1_MOST, M2_MOST, M3_MOST, M4_MOST};
use crate::search::load_position::LoadPosition;

/// Longer matches are recorded with this length.
const LONGEST: usize = 0x7e00;
/// One byte of length in a [`Longest`].
const BYTE: u32 = 1 << 16;

/// A match in one number: its length in the high bits, its complemented distance in the low bits. The maximum is the longest match, then
/// the nearest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Longest(u32);

/// The matches of a position. A farther match is at least as long as a nearer one; it is not used if both are equally long.
#[derive(Debug, Clone, Copy)]
pub(super) struct PositionMatches {
    /// The longest matches within [`M2_MOST`], [`M3_MOST`] and [`M4_MOST`], and the distance of two equal bytes, or 0.
    all: U32x4,
}

/// The longest matches among the candidates by distance class, each in one of four places.
pub(super) struct Tally([U32x4; 3]);

impl Longest {
    /// Length in bytes; 0 if there is no match.
    #[inline(always)]
    pub fn length(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// Distance back in bytes.
    #[inline(always)]
    pub fn distance(self) -> u16 {
        !(self.0 as u16)
    }
}

impl PositionMatches {
    pub fn none() -> PositionMatches {
        PositionMatches { all: U32x4::all(0) }
    }

    /// The longest matches within [`M2_MOST`], [`M3_MOST`] and [`M4_MOST`].
    #[inline(always)]
    pub fn longest(&self) -> [Longest; 3] {
        let [near, middle, far, _] = self.all.each();
        [Longest(near), Longest(middle), Longest(far)]
    }

    /// The distance of two equal bytes within [`M1_MOST`], or 0.
    #[inline(always)]
    pub fn two(&self) -> u16 {
        self.all.each()[3] as u16
    }

    /// The same matches continued one position later.
    #[inline(always)]
    pub fn rest(&self) -> PositionMatches {
        PositionMatches { all: self.all.minus(U32x4::new([BYTE, BYTE, BYTE, 0])) }.usable()
    }

    /// The matches without those that are too short or too far to be encoded.
    #[inline(always)]
    fn usable(&self) -> PositionMatches {
        let least = U32x4::new([3 * BYTE - 1, 3 * BYTE - 1, 3 * BYTE - 1, i32::MAX as u32]);
        PositionMatches { all: self.all.where_more(self.all, least) }
    }

    /// These matches combined with the matches of `tally`.
    #[inline(always)]
    pub fn with(&self, tally: Tally) -> PositionMatches {
        PositionMatches { all: self.all.max(U32x4::max_of_three(tally.0)) }.usable()
    }

    /// Adds a match of two bytes at an earlier position, given by its low bits, if the bytes are equal.
    ///
    /// # Safety
    ///
    /// The low bits must be those of a position of the block that is not after `here`.
    #[inline(always)]
    pub unsafe fn with_two(self, here: LoadPosition, earlier: u16) -> PositionMatches {
        let distance = (here.at() as u16).wrapping_sub(earlier);
        // SAFETY: by the caller's contract the distance leads to a position in the block.
        let there = unsafe { here.eight_back(distance.into()) };
        let same = (there ^ here.first_eight()) as u16 == 0;
        let two = if same && distance.wrapping_sub(1) < M1_MOST as u16 { distance } else { 0 };
        PositionMatches { all: self.all.plus(U32x4::new([0, 0, 0, two.into()])) }
    }

    /// Compares with four earlier positions, given by their low bits. Returns the bitwise or of all lengths.
    ///
    /// # Safety
    ///
    /// The low bits must be those of positions of the block that are not after `here`.
    #[inline(always)]
    pub unsafe fn weigh(&self, tally: &mut Tally, here: LoadPosition, earlier: u64) -> u32 {
        let distances = U32x4::short_of(here.at() as u16, earlier);
        let each = distances.each();
        let length = |lane: usize| {
            let distance = each[lane] as u16;
            // SAFETY: by the caller's contract the distance leads to a position in the block.
            let differing = unsafe { here.eight_back(distance.into()) } ^ here.first_eight();
            if differing == 0 { self.extended_length(here, distance) } else { differing.trailing_zeros() / 8 }
        };
        let lengths = [length(0), length(1), length(2), length(3)];
        tally.add(U32x4::new(lengths), distances);
        lengths[0] | lengths[1] | lengths[2] | lengths[3]
    }

    /// The length of a match of at least eight bytes, or 8 if it is not longer than the known one.
    #[inline(always)]
    fn extended_length(&self, here: LoadPosition, distance: u16) -> u32 {
        let [near, middle, far] = self.longest();
        let known = match usize::from(distance) {
            distance if distance <= M2_MOST => near,
            distance if distance <= M3_MOST => middle,
            _ => far,
        };
        extended_length(here, distance.into(), known.length())
    }
}

/// The length of a match of at least eight bytes, or 8 if it does not exceed `known`. 0 for a distance of 0, which means a position 64 KiB
/// back.
#[inline(never)]
fn extended_length(here: LoadPosition, distance: usize, known: usize) -> u32 {
    match distance {
        0 => 0,
        _ if known >= 8 && !here.is_equal_until(distance, known + 1) => 8,
        _ => here.match_length(distance, 8, LONGEST) as u32,
    }
}

impl Tally {
    #[inline(always)]
    pub fn new() -> Tally {
        Tally([U32x4::all(0); 3])
    }

    #[inline(always)]
    fn add(&mut self, lengths: U32x4, distances: U32x4) {
        let found = lengths.high().plus(U32x4::all(0xffff).minus(distances));
        let [near, middle, far] = &mut self.0;
        for (most, limit) in [(near, M2_MOST), (middle, M3_MOST), (far, M4_MOST)] {
            *most = most.max(found.where_more(U32x4::all(limit as u32 + 1), distances));
        }
    }
}
