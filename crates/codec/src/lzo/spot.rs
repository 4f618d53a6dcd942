//! The longest match at a position within each distance class of LZO.

use super::common::{eight, match_length};
use super::form::{M1_MOST, M2_MOST, M3_MOST, M4_MOST};
use super::four::Four;

/// Bytes after a position that a [`Place`] may read.
pub(super) const MARGIN: usize = 24;
/// Longer matches are recorded with this length.
const LONGEST: usize = 0x7e00;
/// One byte of length in a [`Longest`].
const BYTE: u32 = 1 << 16;

/// A match in one number: its length, and below it its complemented distance, so that the maximum is the longest and then the nearest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Longest(u32);

/// The matches of a position. A farther one is at least as long as a nearer one; if equal, it is not used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    /// The longest within [`M2_MOST`], [`M3_MOST`] and [`M4_MOST`], and the distance of two equal bytes, or 0.
    all: Four,
}

/// The longest matches among the candidates, by distance class, each in one of four places.
pub(super) struct Tally([Four; 3]);

/// A position of a block with at least [`MARGIN`] bytes behind it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    src: &'a [u8],
    at: usize,
}

impl<'a> Place<'a> {
    /// `None` if too few bytes follow.
    #[inline(always)]
    pub fn new(src: &'a [u8], at: usize) -> Option<Self> {
        (at.checked_add(MARGIN)? <= src.len()).then_some(Place { src, at })
    }

    /// The low bits of its position.
    #[inline(always)]
    pub fn low(self) -> u16 {
        self.at as u16
    }

    /// Its first eight bytes.
    #[inline(always)]
    pub fn now(self) -> u64 {
        // SAFETY: `new` checked that MARGIN bytes follow.
        unsafe { self.word(self.at) }
    }

    /// The next eight bytes.
    #[inline(always)]
    pub fn later(self) -> u64 {
        // SAFETY: `new` checked that MARGIN bytes follow.
        unsafe { self.word(self.at + 8) }
    }

    /// The eight bytes at this distance back.
    ///
    /// # Safety
    ///
    /// They must not start before the block.
    #[inline(always)]
    unsafe fn back(self, distance: u16) -> u64 {
        // SAFETY: by the caller's contract it is in the block, and not after the place itself.
        unsafe { self.word(self.at - usize::from(distance)) }
    }

    /// Eight bytes of the block.
    ///
    /// # Safety
    ///
    /// `from + 8` must not be more than the length of the block.
    #[inline(always)]
    unsafe fn word(self, from: usize) -> u64 {
        debug_assert!(from + 8 <= self.src.len());
        // SAFETY: by the caller's contract the eight bytes are in the block.
        u64::from_le_bytes(unsafe { self.src.as_ptr().add(from).cast::<[u8; 8]>().read() })
    }
}

impl Longest {
    /// Bytes; 0 if there is no match.
    #[inline(always)]
    pub fn length(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// Bytes back.
    #[inline(always)]
    pub fn distance(self) -> u16 {
        !(self.0 as u16)
    }
}

impl Spot {
    pub fn none() -> Spot {
        Spot { all: Four::all(0) }
    }

    /// The longest within [`M2_MOST`], [`M3_MOST`] and [`M4_MOST`].
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
    pub fn rest(&self) -> Spot {
        Spot { all: self.all.minus(Four::new([BYTE, BYTE, BYTE, 0])) }.usable()
    }

    /// Without matches that are too short or too far to be encoded.
    #[inline(always)]
    fn usable(&self) -> Spot {
        let least = Four::new([3 * BYTE - 1, 3 * BYTE - 1, 3 * BYTE - 1, i32::MAX as u32]);
        Spot { all: self.all.where_more(self.all, least) }
    }

    /// Combined with the matches of `tally`.
    #[inline(always)]
    pub fn with(&self, tally: Tally) -> Spot {
        Spot { all: self.all.most(Four::greatest(tally.0)) }.usable()
    }

    /// Adds a match of two bytes at an earlier position, given by its low bits, if they are equal.
    ///
    /// # Safety
    ///
    /// The low bits must be those of a position of the block that is not after the place.
    #[inline(always)]
    pub unsafe fn with_two(self, place: Place, earlier: u16) -> Spot {
        let distance = place.low().wrapping_sub(earlier);
        // SAFETY: a position in the block is at least so far back.
        let there = unsafe { place.back(distance) };
        let same = (there ^ place.now()) as u16 == 0;
        let two = if same && distance.wrapping_sub(1) < M1_MOST as u16 { distance } else { 0 };
        Spot { all: self.all.plus(Four::new([0, 0, 0, two.into()])) }
    }

    /// Compares with four earlier positions, given by their low bits. Returns the bitwise or of all lengths.
    ///
    /// # Safety
    ///
    /// The low bits must be those of positions of the block that are not after the place.
    #[inline(always)]
    pub unsafe fn weigh(&self, tally: &mut Tally, place: Place, earlier: u64) -> u32 {
        let distances = Four::short_of(place.low(), earlier);
        let each = distances.each();
        let length = |lane: usize| {
            let distance = each[lane] as u16;
            // SAFETY: a position in the block is at least so far back.
            let differing = unsafe { place.back(distance) } ^ place.now();
            if differing == 0 { self.further(place, distance) } else { differing.trailing_zeros() / 8 }
        };
        let lengths = [length(0), length(1), length(2), length(3)];
        tally.add(Four::new(lengths), distances);
        lengths[0] | lengths[1] | lengths[2] | lengths[3]
    }

    /// The length of a match of eight bytes or more, or 8 if it is no longer than the known one.
    #[inline(always)]
    fn further(&self, place: Place, distance: u16) -> u32 {
        let [near, middle, far] = self.longest();
        let known = match usize::from(distance) {
            distance if distance <= M2_MOST => near,
            distance if distance <= M3_MOST => middle,
            _ => far,
        };
        further(place.src, place.at, distance.into(), known.length())
    }
}

/// The length of a match of at least eight bytes, or 8 if it does not exceed `known`; 0 for a distance of 0, which means a position 64 KiB
/// back.
#[inline(never)]
fn further(src: &[u8], at: usize, distance: usize, known: usize) -> u32 {
    let from = at - distance;
    match distance {
        0 => 0,
        _ if known >= 8 && eight(src, from + known - 7) != eight(src, at + known - 7) => 8,
        _ => (8 + match_length(src, from + 8, at + 8)).min(LONGEST) as u32,
    }
}

impl Tally {
    #[inline(always)]
    pub fn new() -> Tally {
        Tally([Four::all(0); 3])
    }

    #[inline(always)]
    fn add(&mut self, lengths: Four, distances: Four) {
        let found = lengths.high().plus(Four::all(0xffff).minus(distances));
        let [near, middle, far] = &mut self.0;
        for (most, limit) in [(near, M2_MOST), (middle, M3_MOST), (far, M4_MOST)] {
            *most = most.most(found.where_more(Four::all(limit as u32 + 1), distances));
        }
    }
}
