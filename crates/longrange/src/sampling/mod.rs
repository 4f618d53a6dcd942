//! First phase: samples each segment by content, and puts the samples into shards by their fingerprints.

pub(crate) mod gear;
pub(crate) mod runs;

use std::ops::Range;
use std::sync::Arc;

use crate::error::PhaseError;
use crate::index::pages::{PagePool, Piles};
use crate::matching::segment_reader::SegmentReader;
use crate::sampling::gear::{SHORT_WINDOW, WINDOW};
use crate::sampling::runs::{PERIOD_MOST, Run};
use crate::second_pass::Uncovered;
use crate::settings::{SHARDS, Settings, part_of};

/// The state of a worker.
pub(crate) struct Sampler {
    settings: Settings,
    reader: SegmentReader,
    shards: Piles,
    /// Samples of the segment: the hash, and the position in the segment.
    chosen: Vec<(u32, u32)>,
}

impl Sampler {
    pub(crate) fn new(settings: &Settings, reader: SegmentReader, pool: &Arc<PagePool>) -> Self {
        Self { settings: settings.clone(), reader, shards: Piles::new(SHARDS, pool), chosen: Vec::new() }
    }

    /// Takes the samples of segment `number`.
    pub(crate) fn sample(&mut self, number: usize) -> Result<(), PhaseError> {
        let segment = self.reader.turn_to(number, self.settings.length())?;
        let start = segment.start.saturating_sub(PERIOD_MOST as u64);
        let bytes = self.reader.near(start..segment.end + WINDOW as u64 - 1);
        let from = (segment.start - start) as usize;
        let most = self.settings.segment_samples_most(segment.end - segment.start);
        let runs = runs::runs(bytes, from);
        let pieces = apart_from(&runs, from, bytes.len());
        choose(&self.settings, most, bytes, pieces, &mut self.chosen);
        distribute(&self.settings, most, bytes, start, &self.chosen, &mut self.shards);
        Ok(())
    }

    /// Takes the samples of the uncovered parts of segment `number`.
    pub(crate) fn sample_left(&mut self, number: usize, left: &Uncovered) -> Result<(), PhaseError> {
        let segment = self.reader.turn_to(number, self.settings.length())?;
        let start = segment.start;
        let bytes = self.reader.near(segment.clone());
        let gaps = || left.within(&segment, self.settings.sample() as u64);
        let most = self.settings.segment_samples_most(gaps().map(|gap| gap.end - gap.start).sum());
        let pieces = gaps().map(|gap| (gap.start - start) as usize..(gap.end - start) as usize);
        choose(&self.settings, most, bytes, pieces, &mut self.chosen);
        distribute(&self.settings, most, bytes, start, &self.chosen, &mut self.shards);
        Ok(())
    }

    pub(crate) fn into_shards(self) -> Piles {
        self.shards
    }
}

/// Chooses samples in `pieces` of `bytes`: positions whose hash is below a threshold.
///
/// If there are more than `most` samples, the ones with the lowest hashes remain, which is still a choice by content, like sparser sampling.
fn choose(
    settings: &Settings,
    most: usize,
    bytes: &[u8],
    pieces: impl Iterator<Item = Range<usize>>,
    chosen: &mut Vec<(u32, u32)>,
) {
    let mut threshold = settings.threshold();
    chosen.clear();
    for piece in pieces {
        let from = threshold;
        let take = |at: usize, hash| {
            chosen.push((hash, (piece.start + at) as u32));
            if chosen.len() == 2 * most {
                threshold = thin(chosen, most);
            }
            threshold
        };
        match settings.sample() {
            SHORT_WINDOW => gear::scan::<SHORT_WINDOW>(&bytes[piece.clone()], from, take),
            _ => gear::scan::<WINDOW>(&bytes[piece.clone()], from, take),
        }
    }
    if chosen.len() > most {
        thin(chosen, most);
    }
    chosen.sort_unstable_by_key(|(_, at)| *at);
}

/// Keeps the `most` samples with the lowest hashes, and returns the new threshold for further hashes.
fn thin(chosen: &mut Vec<(u32, u32)>, most: usize) -> u32 {
    let (_, (highest, _), _) = chosen.select_nth_unstable(most);
    let highest = *highest;
    chosen.truncate(most);
    highest
}

/// The parts of `from..end` in which samples may begin and end. The parts overlap runs, but no sample is within a run.
fn apart_from(runs: &[Run], from: usize, end: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(from).chain(runs.iter().map(move |run| (run.end - (WINDOW - 1)).max(from)));
    let ends = runs.iter().map(|run| run.start - run.period + WINDOW - 1).chain(std::iter::once(end));
    starts.zip(ends).map(|(start, end)| start..end.max(start))
}

/// Puts the samples into shards, each as a word of its position and as many bits of the fingerprint as fit.
fn distribute(settings: &Settings, most: usize, bytes: &[u8], start: u64, chosen: &[(u32, u32)], shards: &mut Piles) {
    let most = part_of(most) as u32;
    let bits = settings.position_bits();
    let mut counts = [0; SHARDS];
    for (_, at) in chosen {
        let Some(sample) = bytes.get(*at as usize..).and_then(|rest| rest.get(..settings.sample())) else { continue };
        let fingerprint = gear::fingerprint_of(sample);
        let shard = (fingerprint >> 56) as usize;
        counts[shard] += 1;
        if counts[shard] <= most {
            shards.push(shard, (fingerprint << 8) >> bits << bits | (start + u64::from(*at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::pages::{self, Piles};
    use crate::noise::noise;

    fn most(settings: &Settings) -> usize {
        settings.segment_samples_most(settings.length())
    }

    fn chosen(settings: &Settings, bytes: &[u8]) -> Vec<(u32, u32)> {
        let mut chosen = Vec::new();
        let runs = runs::runs(bytes, 0);
        let pieces = apart_from(&runs, 0, bytes.len());
        choose(settings, most(settings), bytes, pieces, &mut chosen);
        chosen
    }

    /// Content with a period of 65 bytes, one more than a run may have, with many more samples than usual.
    fn crowded(settings: &Settings) -> Vec<u8> {
        let mut patterns = (1..).map(|seed| noise(65, seed).into_iter().cycle().take(1 << 20).collect::<Vec<u8>>());
        let samples = |bytes: &Vec<u8>| {
            let mut count = 0;
            gear::scan::<WINDOW>(bytes, settings.threshold(), |_, _| {
                count += 1;
                settings.threshold()
            });
            count
        };
        patterns.find(|bytes| samples(bytes) > 3 * most(settings)).unwrap_or_default()
    }

    #[test]
    fn keeps_the_lowest_hashes_of_too_many_samples() {
        let settings = Settings::new(1, 1 << 20);
        let bytes = crowded(&settings);
        let few = chosen(&settings, &bytes);
        assert_eq!(few.len(), most(&settings));
        assert!(few.is_sorted_by_key(|(_, at)| *at));
        let highest = few.iter().map(|(hash, _)| *hash).max();
        let lower = |hash| highest.is_some_and(|highest| hash < highest);
        let mut all_lower = 0;
        gear::scan::<WINDOW>(&bytes, settings.threshold(), |_, hash| {
            all_lower += usize::from(lower(hash));
            settings.threshold()
        });
        assert_eq!(
            few.iter().filter(|(hash, _)| lower(*hash)).count(),
            all_lower,
            "no sample with a lower hash is missing"
        );
    }

    #[test]
    fn no_shard_gets_more_than_twice_its_share() {
        let settings = Settings::new(1, 1 << 20);
        let bytes = crowded(&settings);
        let pool = Arc::<PagePool>::default();
        let few = chosen(&settings, &bytes);
        let mut shards = Piles::new(SHARDS, &pool);
        distribute(&settings, most(&settings), &bytes, 0, &few, &mut shards);
        let mut flat = Vec::new();
        let mut sizes: Vec<usize> = Vec::new();
        for pile in Piles::merge(vec![shards], SHARDS) {
            pages::take_pile(&pile).flatten(&mut flat, &pool);
            sizes.push(flat.len());
        }
        assert_eq!(sizes.iter().max(), Some(&part_of(most(&settings))));
    }

    #[test]
    fn skips_samples_within_a_run_only() {
        let settings = Settings::new(9, 1 << 20);
        let before = noise(5000, 1);
        let after = noise(5000, 2);
        let bytes = [&before[..], &[b'Z'; 3000], &after].concat();
        let places: Vec<u32> = chosen(&settings, &bytes).iter().map(|(_, at)| *at).collect();
        let mut expected = Vec::new();
        gear::scan::<WINDOW>(&bytes, settings.threshold(), |at, _| {
            // Noise may begin or end with a byte of the run.
            let within = at >= 5000 && at + WINDOW <= 8000;
            expected.extend((!within).then_some(at as u32));
            settings.threshold()
        });
        assert_eq!(places, expected);
    }
}
