//! Unused bytes before parts of the data area, so that images of similar trees have more bytes in common ([`Layout::Stable`]).
//!
//! A part is a fragment block, the blocks of one file, or all tables. If the size of a part changes, everything after it moves. Two kinds of
//! unused bytes stop the difference:
//!
//! - A mark: 48 bytes whose rolling hash ends a chunk in casync and desync, whatever is around them, with their default sizes of chunks.
//!   Chunks then end where parts end, and a changed part costs little more than its own bytes. A mark within the smallest chunk would have
//!   no effect and is left out.
//! - Zeros, so that a part starts at a multiple of some bytes: for readers that compare blocks at fixed offsets, as RAUC and bees do.
//!   Zeros cost half a unit on average, and one more chunk if the bytes before them move. They are therefore put where that chunk is small:
//!   between two fragment blocks if the first is small, and before any part after a long distance without zeros.
//!
//! Both depend on nearby sizes alone, not on distant ones, so that positions are the same again soon after a difference.

use crate::{BlockSize, Layout};

/// Bytes whose hash by casync's chunker is one less than a multiple of its divisor for chunks of 64 KiB, 49535.
pub(crate) const MARK: &[u8; 48] = b"packline: chunkers cut behind this mark #0015398";
/// The minimum chunk size in bytes of casync and desync.
const SMALLEST_CHUNK: u64 = 16 * 1024;
/// Minimum number of units between two aligned parts, so that zeros are on average at most 1/32 of the image.
const NEAR: u64 = 16;
/// Units after which any part is aligned.
const FAR: u64 = 1024;

/// The part that is written next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A fragment block of this number of bytes.
    Fragment(usize),
    /// The blocks of a file.
    Run,
    /// All tables.
    Tables,
}

/// Unused bytes: zeros, then a mark or nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) zeros: u64,
    pub(crate) mark: &'static [u8],
}

/// Decides on gaps in the order of the image.
#[derive(Debug)]
pub(crate) struct Spacing {
    layout: Layout,
    /// The unit of all starts.
    least: u32,
    /// Fragment blocks below this size in bytes count as small.
    small: usize,
    /// The unit of the next part's start.
    demanded: u32,
    /// End of the last mark, and start of the last aligned part: bytes from the start of the image.
    marked: u64,
    aligned: u64,
    previous: Part,
}

impl Spacing {
    pub(crate) fn new(layout: Layout, least: u32, block_size: BlockSize) -> Spacing {
        let small = block_size.bytes() / 32 * 5;
        Spacing { layout, least: least.max(1), small, demanded: 1, marked: 0, aligned: 0, previous: Part::Run }
    }

    /// Demands that the next part starts at a multiple of `unit` bytes.
    pub(crate) fn demand(&mut self, unit: u32) {
        self.demanded = unit.max(1);
    }

    /// Whether each block may have a gap, not only the first one of a run.
    pub(crate) fn is_before_blocks(&self) -> bool {
        self.least > 1
    }

    /// Returns the gap before a part that could start at `position`.
    pub(crate) fn before(&mut self, part: Part, position: u64) -> Gap {
        let mark = self.mark(position);
        let unit = u64::from(self.demanded).max(self.unit(part, position).into()).next_multiple_of(self.least.into());
        let start = (position + mark.len() as u64).next_multiple_of(unit);
        self.marked = if mark.is_empty() { self.marked } else { start };
        self.aligned = if unit > 1 { start } else { self.aligned };
        self.demanded = 1;
        self.previous = part;
        Gap { zeros: start - position - mark.len() as u64, mark }
    }

    fn mark(&self, position: u64) -> &'static [u8] {
        match self.layout {
            Layout::Stable { .. } if position - self.marked >= SMALLEST_CHUNK => MARK,
            _ => &[],
        }
    }

    fn unit(&self, part: Part, position: u64) -> u32 {
        let Layout::Stable { align } = self.layout else { return 1 };
        let unit = u64::from(align);
        let distance = position - self.aligned;
        let between = matches!((self.previous, part), (Part::Fragment(size), Part::Fragment(_)) if size < self.small);
        if part == Part::Tables || distance >= FAR * unit || between && distance >= NEAR * unit { align } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::{Random, chunker};

    use super::*;

    fn spacing(layout: Layout) -> Spacing {
        Spacing::new(layout, 1, BlockSize::default())
    }

    fn gap(zeros: u64, mark: &'static [u8]) -> Gap {
        Gap { zeros, mark }
    }

    #[test]
    fn compact_images_have_only_the_gaps_that_are_demanded() {
        let mut spacing = spacing(Layout::Compact);
        assert_eq!(spacing.before(Part::Run, 96), gap(0, b""));
        spacing.demand(4096);
        assert_eq!(spacing.before(Part::Run, 5000), gap(3192, b""));
        assert_eq!(spacing.before(Part::Fragment(9), 9001), gap(0, b""));
        assert_eq!(spacing.before(Part::Fragment(9), 1 << 30), gap(0, b""));
        assert_eq!(spacing.before(Part::Tables, 8193), gap(0, b""));
    }

    #[test]
    fn all_parts_start_at_multiples_of_the_least_unit() {
        let mut spacing = Spacing::new(Layout::Compact, 4096, BlockSize::default());
        assert_eq!(spacing.before(Part::Run, 4096), gap(0, b""));
        assert_eq!(spacing.before(Part::Run, 5000), gap(3192, b""));
        spacing.demand(10_000);
        assert_eq!(spacing.before(Part::Run, 5000), gap(12_288 - 5000, b""));
        assert_eq!(spacing.before(Part::Tables, 8193), gap(4095, b""));
    }

    #[test]
    fn marks_are_a_smallest_chunk_apart() {
        let mut spacing = spacing(Layout::STABLE);
        assert_eq!(spacing.before(Part::Run, 96), gap(0, b""));
        assert_eq!(spacing.before(Part::Run, 16_384), gap(0, MARK));
        assert_eq!(spacing.before(Part::Run, 16_432 + 16_383), gap(0, b""));
        assert_eq!(spacing.before(Part::Fragment(9), 16_432 + 16_384), gap(0, MARK));
    }

    #[test]
    fn parts_are_aligned_after_small_fragment_blocks_and_long_distances_and_at_the_tables() {
        let (mut spacing, [small, large]) = (spacing(Layout::STABLE), [Part::Fragment(20_479), Part::Fragment(20_480)]);
        let zeros = |spacing: &mut Spacing, part, position| spacing.before(part, position).zeros;
        assert_eq!(zeros(&mut spacing, small, 65_535), 0, "no fragment block before");
        assert_eq!(zeros(&mut spacing, large, 81_000), 920, "after a small one");
        assert_eq!(zeros(&mut spacing, small, 180_001), 0, "after a large one");
        assert_eq!(zeros(&mut spacing, Part::Run, 190_001), 0, "before a file");
        assert_eq!(zeros(&mut spacing, small, 200_001), 0, "after a file");
        let far = 81_920 + 1024 * 4096;
        assert_eq!(zeros(&mut spacing, Part::Run, far + 1), 4095 - 48, "far from the last one");
        assert_eq!(zeros(&mut spacing, Part::Tables, far + 4097), 4095, "the tables");
    }

    #[test]
    fn a_demand_counts_if_it_is_larger() {
        let mut spacing = spacing(Layout::STABLE);
        spacing.demand(1 << 20);
        assert_eq!(spacing.before(Part::Run, 96), gap((1 << 20) - 96, b""));
        spacing.demand(512);
        assert_eq!(spacing.before(Part::Tables, (1 << 20) + 513), gap(4096 - 513 - 48, MARK));
    }

    #[test]
    fn a_mark_ends_a_chunk_whatever_is_around_it() {
        let mut random = Random::new(31);
        for length in [16_384, 16_500, 40_000] {
            let around = random.noise(100_000);
            let bytes = [&vec![0; length][..], MARK, &around].concat();
            assert_eq!(chunker::chunk_ends(&bytes)[0], length + MARK.len());
        }
    }

    /// Random parts: three fragment blocks for each file.
    fn parts(seed: u64, count: usize) -> Vec<(Part, u64)> {
        let mut random = Random::new(seed);
        let part = |_| match random.below(4) {
            0 => (Part::Run, 1 + random.below(200_000)),
            _ => {
                let size = 1 + random.below(60_000);
                (Part::Fragment(size as usize), size)
            }
        };
        (0..count).map(part).collect()
    }

    /// Returns the starts of consecutive parts from `start` on, and the end of the last one.
    fn places(start: u64, parts: &[(Part, u64)]) -> Vec<u64> {
        let mut spacing = spacing(Layout::STABLE);
        let mut at = start;
        let mut places = Vec::new();
        for (part, size) in parts {
            let Gap { zeros, mark } = spacing.before(*part, at);
            at += zeros + mark.len() as u64;
            places.push(at);
            at += size;
        }
        [places, vec![at]].concat()
    }

    #[test]
    fn places_are_the_same_again_after_a_difference() {
        for seed in 0..50 {
            let parts = parts(seed, 600);
            let [old, new] = [96, 96 + 10_000 * seed + 1].map(|start| places(start, &parts));
            let moved = |place: usize| new[place] - old[place];
            let again = (0..=600).find(|place| (*place..=600).all(|later| moved(later) == moved(*place)));
            assert!(again.is_some_and(|place| place < 300 && moved(place) % 4096 == 0), "seed {seed}: {again:?}");
        }
    }

    #[test]
    fn gaps_are_a_small_part_of_the_image() {
        let parts = parts(7, 20_000);
        let size: u64 = parts.iter().map(|(_, size)| size).sum();
        let with_gaps = places(0, &parts)[parts.len()];
        assert!((size + 1..size + size / 50).contains(&with_gaps), "{size} {with_gaps}");
    }
}
