//! The density of samples and the effort of the search, which depend only on the level and the length.

use crate::Match;
use crate::index::pages::{PAGE, PAGE_BYTES};
use crate::matching::segment_reader;
use crate::sampling::gear::{SHORT_WINDOW, WINDOW};
use crate::sampling::runs;

/// The levels, from the fastest to the most thorough.
pub const LEVELS: std::ops::RangeInclusive<u32> = 1..=9;

/// The longest window in bytes. 64 GiB, because two positions must fit into 64 bits.
pub const WINDOW_MOST: u64 = 1 << 36;

/// Bytes of a segment. A constant, because results depend on it.
pub(crate) const SEGMENT: u64 = 4 << 20;

/// Number of shards of fingerprints.
pub(crate) const SHARDS: usize = 256;

/// A second pass is at most this many times as dense as the first.
const DENSER: u64 = 8;

/// Minimum average distance of samples in a second pass, in bytes.
const FINEST: u64 = 3;

struct Level {
    /// Average distance of samples in bytes, if memory allows it.
    gap: u64,
    /// Maximum bytes of the index.
    index: u64,
    /// Number of earlier positions with the same fingerprint that are compared, the nearest first.
    candidates: u32,
    /// One match of the first pass is kept for this many samples. With 16, the matches need three sixteenths of the index's memory.
    samples_of_a_match: u64,
}

/// The highest levels keep fewer matches: with more, their large index and a block of LZMA would not fit into half a gigabyte.
const fn level(gap: u64, index_mib: u64, candidates: u32) -> Level {
    let samples_of_a_match = if candidates < 8 { 16 } else { 48 };
    Level { gap, index: index_mib << 20, candidates, samples_of_a_match }
}

/// Measured on archives of a Debian root: half the gap reduces the uncovered bytes by about 3 % and takes 1.5 times as long; more than a
/// few candidates change the result by 0.1 %.
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
/// They depend only on the level and the window's length, so the result never depends on memory, workers or time. A level has a density of
/// samples and a limit for the index. If the window is too long for both, samples are sparser, so that the index stays within the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    length: u64,
    gap: u64,
    /// Minimum gap of a second pass.
    finest: u64,
    candidates: u32,
    samples_of_a_match: u64,
    least: u64,
    sample: usize,
    /// Bytes at the window's start in which no matches are searched.
    reference: u64,
}

impl Settings {
    /// The settings of `level` (clamped to [`LEVELS`]) for a window of `length` bytes.
    #[must_use]
    pub fn new(level: u32, length: u64) -> Self {
        let row = level.clamp(*LEVELS.start(), *LEVELS.end()) - LEVELS.start();
        let Level { gap, index, candidates, samples_of_a_match } = &TABLE[row as usize];
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

    /// The settings for a second pass over `left` uncovered bytes, with at most as many samples as in the first pass. `None` if the samples
    /// would be less than twice as dense, which is not worth the time.
    pub(crate) fn second_pass(&self, left: u64) -> Option<Self> {
        let gap = (left * self.gap).div_ceil(self.length.max(1)).max(self.finest);
        let sample = if self.least < WINDOW as u64 { SHORT_WINDOW } else { WINDOW };
        (left > 0 && self.reference == 0 && gap * 2 <= self.gap).then(|| Self { gap, sample, ..self.clone() })
    }

    /// Number of matches of the first pass that are kept for a second pass. With more matches there is no second pass.
    pub(crate) fn kept_most(&self) -> usize {
        if self.reference > 0 { 0 } else { (self.samples_most() / self.samples_of_a_match) as usize }
    }

    /// Sets the minimum length of matches (default 32, minimum 24). Use more than 32 for a codec that finds short repeats itself, and less
    /// than 32 for a codec that finds none. Matches of fewer than 32 bytes are only found in a second pass, or are runs.
    #[must_use]
    pub fn with_least(self, least: u64) -> Self {
        Self { least: least.max(SHORT_WINDOW as u64), ..self }
    }

    /// Treats the first `bytes` of the window as a reference, if `bytes` is not 0: a match then is content after the reference that repeats
    /// content of the reference. There are no matches of runs and no second pass.
    #[must_use]
    pub fn with_reference(self, bytes: u64) -> Self {
        Self { reference: bytes.min(self.length), ..self }
    }

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

    /// Average distance of samples in bytes.
    #[must_use]
    pub fn gap(&self) -> u64 {
        self.gap
    }

    /// Maximum number of earlier positions compared for a sample.
    #[must_use]
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// The shortest match in bytes.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.least
    }

    /// Upper bound of the number of samples, for any content.
    #[must_use]
    pub fn samples_most(&self) -> u64 {
        self.segments() as u64 * self.whole_segment_samples_most() as u64
    }

    /// Upper bound of the memory of a search with `workers` workers, in bytes, for a window that is read at offsets. A window in memory
    /// needs less.
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

    /// Memory of the index: a word for each sample in pages, the directories of the zones, and the matches kept for a second pass.
    fn index_memory(&self) -> u64 {
        let pages = self.samples_most().div_ceil(PAGE as u64) * PAGE_BYTES;
        let directories = self.length / granule(self.gap.min(2 * self.finest)) * 4 + 4096;
        pages + directories + self.kept_most() as u64 * size_of::<Match>() as u64
    }

    /// Half-filled pages of two phases, and the maximum over the phases: a segment with its samples; two copies of a shard and of a zone;
    /// or a segment with the cache and the matches of two segments. Lists may have grown to twice their length.
    fn worker_memory(&self) -> u64 {
        let pages = 2 * SHARDS as u64 * PAGE_BYTES;
        let segment = SEGMENT + 2 * segment_reader::AROUND + runs::MEMORY;
        let sampling = segment + 2 * 16 * self.dense_samples_most();
        let sorting = 16 * (self.shard_samples_most() + self.zone_samples_most());
        let matches = 2 * size_of::<Match>() as u64 * (SEGMENT / self.least);
        let matching = segment + segment_reader::CACHE + 2 * matches;
        pages + sampling.max(sorting).max(matching)
    }

    /// The same settings for a window of another length.
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

    /// Bits of a position in its zone. There are at most 256 zones of complete segments, and a position and its zone position fit a word.
    pub(crate) fn zone_bits(&self) -> u32 {
        self.position_bits().saturating_sub(8).max(SEGMENT.trailing_zeros())
    }

    /// Bytes between two entries of a zone's directory: a power of two, about 16 samples, or 32 at the highest density.
    pub(crate) fn granule(&self) -> u64 {
        granule(self.gap.max(2 * self.finest))
    }
}

/// Upper bound of the samples in `bytes` bytes: a quarter more than the average, and a few more for small inputs.
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
                // Each segment may have a few more samples at any density.
                let few = settings.segments() as u64 * 64 * 8;
                assert!(words <= row.index + few, "level {level}, {length} bytes: {words}");
            }
        }
    }

    #[test]
    fn a_second_pass_takes_no_more_samples_than_the_first() {
        for (level, length) in [(1, 1 << 30), (7, 345_000_000), (7, 4 << 30), (9, 50_000_000)] {
            let settings = Settings::new(level, length);
            for left in [1, length / 100, length / 8, length / 3, length / 2, length] {
                let Some(second) = settings.second_pass(left) else {
                    assert!(left > length / 2 - length / 50 || settings.gap() < 6, "level {level}: {left} of {length}");
                    continue;
                };
                assert!(second.gap() * 2 <= settings.gap() && second.gap() >= 3, "level {level}: {}", second.gap());
                assert!(left / second.gap() <= length / settings.gap(), "level {level}: {left} of {length}");
            }
            assert_eq!(settings.second_pass(0), None);
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
    fn clamps_the_least_length_to_the_hashed_bytes() {
        assert_eq!(Settings::new(5, 1).with_least(1).least(), 24);
        assert_eq!(Settings::new(5, 1).least(), 32);
        assert_eq!(Settings::new(5, 1).with_least(48).least(), 48);
    }
}
