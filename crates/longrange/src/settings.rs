//! Density of samples and effort of the search: a function of the level and the length alone.

use crate::gear::{SHORT_WINDOW, WINDOW};
use crate::pages::{PAGE, PAGE_BYTES};
use crate::{Match, runs, segment_reader};

/// The levels, from the fastest to the most thorough.
pub const LEVELS: std::ops::RangeInclusive<u32> = 1..=9;

/// The longest window in bytes: 64 GiB, since two positions must fit 64 bits.
pub const WINDOW_MOST: u64 = 1 << 36;

/// Bytes of a segment, a constant, since results depend on it.
pub(crate) const SEGMENT: u64 = 4 << 20;

/// Number of shards of fingerprints.
pub(crate) const SHARDS: usize = 256;

/// A second pass is at most this many times as dense as the first,
const DENSER: u64 = 8;

/// and takes one sample in at least this many bytes.
const FINEST: u64 = 3;

struct Level {
    /// One sample in this many bytes, if memory allows it.
    gap: u64,
    /// Maximum bytes of the index.
    index: u64,
    /// How many earlier positions with the same fingerprint are compared, the nearest first.
    candidates: u32,
    /// One match of the first pass is kept for this many samples: 16 means three sixteenths of the index's memory in addition.
    samples_of_a_match: u64,
}

/// The highest levels have so large an index that half a gigabyte would not suffice for more matches and a block of LZMA.
const fn level(gap: u64, index_mib: u64, candidates: u32) -> Level {
    let samples_of_a_match = if candidates < 8 { 16 } else { 48 };
    Level { gap, index: index_mib << 20, candidates, samples_of_a_match }
}

/// Measured on archives of a Debian root: halving the gap makes the rest some 3 % smaller and takes half as long again; more than a few
/// candidates make a difference of 0.1 %.
const TABLE: [Level; 9] = [
    level(256, 32, 1),
    level(128, 64, 1),
    level(96, 64, 2),
    level(64, 96, 2),
    level(48, 128, 4),
    level(32, 160, 4),
    level(24, 176, 4),
    level(16, 344, 8),
    level(8, 1024, 16),
];

/// Parameters of a search: density of samples, number of candidates, shortest match.
///
/// They depend on the level and the window's length alone, so that the result does: never on memory, workers or time. A level has a
/// density of samples and a limit for the index; where the window is too long for both, samples are taken more sparsely, so that the
/// index stays within the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    length: u64,
    gap: u64,
    /// The minimum gap of a second pass.
    finest: u64,
    candidates: u32,
    samples_of_a_match: u64,
    least: u64,
    sample: usize,
    /// Bytes at the window's start in which no matches are searched.
    reference: u64,
}

impl Settings {
    /// The settings of `level` (of [`LEVELS`]; other numbers are clamped) for a window of `length` bytes.
    #[must_use]
    pub fn new(level: u32, length: u64) -> Self {
        let place = level.clamp(*LEVELS.start(), *LEVELS.end()) - LEVELS.start();
        let Level { gap, index, candidates, samples_of_a_match } = &TABLE[place as usize];
        // A segment may have a quarter more samples than the average, at 8 bytes each.
        let sparse = length.saturating_mul(10).div_ceil(*index);
        let gap = sparse.max(*gap);
        let finest = (gap / DENSER).max(FINEST);
        let candidates = *candidates;
        let samples_of_a_match = *samples_of_a_match;
        let least = WINDOW as u64;
        let sample = WINDOW;
        Self { length, gap, finest, candidates, samples_of_a_match, least, sample, reference: 0 }
    }

    /// The settings for a second pass over the `left` uncovered bytes: at most as many samples as in the first. `None` if they would be
    /// less than twice as dense, which is not worth the time.
    pub(crate) fn again(&self, left: u64) -> Option<Self> {
        let gap = (left * self.gap).div_ceil(self.length.max(1)).max(self.finest);
        let sample = if self.least < WINDOW as u64 { SHORT_WINDOW } else { WINDOW };
        (left > 0 && self.reference == 0 && gap * 2 <= self.gap).then(|| Self { gap, sample, ..self.clone() })
    }

    /// Number of matches of the first pass kept for a second; with more matches there is none.
    pub(crate) fn kept_most(&self) -> usize {
        if self.reference > 0 { 0 } else { (self.samples_most() / self.samples_of_a_match) as usize }
    }

    /// Sets the minimum length of matches (default 32, minimum 24). More than 32 is for back ends that find short repeats themselves, and
    /// better; less than 32 for those that find none. Such short matches are runs, and repeats in a second pass.
    #[must_use]
    pub fn with_least(self, least: u64) -> Self {
        Self { least: least.max(SHORT_WINDOW as u64), ..self }
    }

    /// Makes the first `bytes` of the window a reference, if they are not 0: matches are repeats behind it of what is in it. Runs are no
    /// matches then, and there is no second pass.
    #[must_use]
    pub fn with_reference(self, bytes: u64) -> Self {
        Self { reference: bytes.min(self.length), ..self }
    }

    /// The end of the reference, bytes.
    pub(crate) fn reference(&self) -> u64 {
        self.reference
    }

    pub(crate) fn sample(&self) -> usize {
        self.sample
    }

    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Average bytes per sample.
    #[must_use]
    pub fn gap(&self) -> u64 {
        self.gap
    }

    /// Maximum number of earlier positions compared at a sample.
    #[must_use]
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// The shortest match in bytes.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.least
    }

    /// Upper bound of the number of samples, whatever the window contains.
    #[must_use]
    pub fn samples_most(&self) -> u64 {
        self.segments() as u64 * self.whole_segment_samples_most() as u64
    }

    /// Upper bound of the memory of a search with `workers` workers in bytes: the index and everything else, for a window that is read at
    /// offsets (one in memory needs less).
    #[must_use]
    pub fn memory(&self, workers: usize) -> u64 {
        let workers = workers.clamp(1, self.segments().max(1)) as u64;
        self.index_memory() + workers * self.worker_memory()
    }

    /// Upper bound of the samples of a segment in either pass.
    fn dense_samples_most(&self) -> u64 {
        let gap = if self.finest * 2 <= self.gap { self.finest } else { self.gap };
        samples_of(SEGMENT.min(self.length), gap) as u64
    }

    /// The index alone: a word for each sample in pages, and the directories of the zones.
    fn index_memory(&self) -> u64 {
        let pages = self.samples_most().div_ceil(PAGE as u64) * PAGE_BYTES;
        let directories = self.length / granule(self.gap.min(2 * self.finest)) * 4 + 4096;
        pages + directories + self.kept_most() as u64 * size_of::<Match>() as u64
    }

    /// Half-filled pages of two phases, and the maximum over the phases: a segment with its samples, two copies of a shard and of a zone,
    /// or a segment with the cache and the matches of two more. Lists may have grown to twice their length.
    fn worker_memory(&self) -> u64 {
        let pages = 2 * SHARDS as u64 * PAGE_BYTES;
        let segment = SEGMENT + 2 * segment_reader::AROUND + runs::MEMORY;
        let sampling = segment + 2 * 16 * self.dense_samples_most();
        let sorting = 16 * (self.shard_samples_most() + self.zone_samples_most());
        let matches = 2 * size_of::<Match>() as u64 * (SEGMENT / self.least);
        let matching = segment + segment_reader::CACHE + 2 * matches;
        pages + sampling.max(sorting).max(matching)
    }

    /// The same for a window of another length.
    pub(crate) fn fitted(&self, length: u64) -> Self {
        Self { length, ..self.clone() }
    }

    pub(crate) fn segments(&self) -> usize {
        self.length.div_ceil(SEGMENT) as usize
    }

    /// Positions with a hash below this are samples.
    pub(crate) fn threshold(&self) -> u32 {
        ((1_u64 << 32) / self.gap) as u32
    }

    /// Upper bound of the samples of a segment of which `bytes` are searched.
    pub(crate) fn segment_samples_most(&self, bytes: u64) -> usize {
        samples_of(bytes, self.gap)
    }

    fn shard_samples_most(&self) -> u64 {
        self.segments() as u64 * part_of(self.whole_segment_samples_most()) as u64
    }

    fn zone_samples_most(&self) -> u64 {
        let segments = (1 << self.zone_bits()) / SEGMENT;
        (segments * self.dense_samples_most()).min(self.samples_most())
    }

    fn whole_segment_samples_most(&self) -> usize {
        self.segment_samples_most(SEGMENT.min(self.length))
    }

    pub(crate) fn position_bits(&self) -> u32 {
        64 - self.length.saturating_sub(1).leading_zeros()
    }

    /// Bits of a position in its zone. At most 256 zones, each of whole segments, and both together fit a word.
    pub(crate) fn zone_bits(&self) -> u32 {
        self.position_bits().saturating_sub(8).max(SEGMENT.trailing_zeros())
    }

    /// Bytes between two entries of a zone's directory, a power of two: some 16 samples, or 32 of the densest.
    pub(crate) fn granule(&self) -> u64 {
        granule(self.gap.max(2 * self.finest))
    }
}

/// Upper bound of the samples of `bytes` bytes: a quarter more than the average, and a few for small inputs.
fn samples_of(bytes: u64, gap: u64) -> usize {
    (bytes / gap * 5 / 4 + 64) as usize
}

/// Upper bound of a segment's samples per shard: twice the average, so that no content fills a single shard.
pub(crate) fn part_of(samples: usize) -> usize {
    samples / SHARDS * 2 + 32
}

fn granule(gap: u64) -> u64 {
    (gap * 16).next_power_of_two().min(SEGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_denser_than_the_one_before() {
        for length in [0, 1, 1 << 20, 500_000_000, 4 << 30, WINDOW_MOST] {
            let gaps: Vec<u64> = LEVELS.map(|level| Settings::new(level, length).gap()).collect();
            assert!(gaps.is_sorted_by(|a, b| a >= b), "{gaps:?}");
        }
    }

    #[test]
    fn the_default_level_needs_less_than_300_mib_at_4_gib() {
        let memory = Settings::new(7, (4 << 30) - (64 << 10)).memory(2);
        assert!((100 << 20..300 << 20).contains(&memory), "{memory}");
    }

    #[test]
    fn the_index_stays_within_the_limit_of_the_level() {
        for (level, row) in LEVELS.zip(&TABLE) {
            for length in [1 << 20, 500_000_000, 4 << 30, WINDOW_MOST] {
                let settings = Settings::new(level, length);
                let words = settings.samples_most() * 8;
                // A few samples for each segment at any density.
                let few = settings.segments() as u64 * 64 * 8;
                assert!(words <= row.index + few, "level {level}, {length} bytes: {words}");
            }
        }
    }

    #[test]
    fn a_second_round_takes_no_more_samples_than_the_first() {
        for (level, length) in [(1, 1 << 30), (7, 345_000_000), (7, 4 << 30), (9, 50_000_000)] {
            let settings = Settings::new(level, length);
            for left in [1, length / 100, length / 8, length / 3, length / 2, length] {
                let Some(again) = settings.again(left) else {
                    assert!(left > length / 2 - length / 50 || settings.gap() < 6, "level {level}: {left} of {length}");
                    continue;
                };
                assert!(again.gap() * 2 <= settings.gap() && again.gap() >= 3, "level {level}: {}", again.gap());
                assert!(left / again.gap() <= length / settings.gap(), "level {level}: {left} of {length}");
            }
            assert_eq!(settings.again(0), None);
        }
    }

    #[test]
    fn two_positions_fit_into_a_word() {
        for length in [0, 1, 4096, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, WINDOW_MOST] {
            let settings = Settings::new(5, length);
            assert!(settings.position_bits() + settings.zone_bits() <= 64, "{length} bytes");
            assert!(settings.length().div_ceil(1 << settings.zone_bits()) <= 256, "{length} bytes");
            assert!(settings.granule() <= 1 << settings.zone_bits(), "{length} bytes");
        }
    }

    #[test]
    fn no_match_is_shorter_than_what_is_hashed() {
        assert_eq!(Settings::new(5, 1).with_least(1).least(), 24);
        assert_eq!(Settings::new(5, 1).least(), 32);
        assert_eq!(Settings::new(5, 1).with_least(48).least(), 48);
    }
}
