//! Second phase: turns shards of samples into links, each from a sample to the previous sample with the same fingerprint.
//!
//! Each shard is sorted by fingerprint and position, so that samples with the same fingerprint are adjacent. Each of them except the first
//! yields a link. Links are put into zones of the window by position and sorted. Samples without a predecessor then use no memory, and the
//! links reuse the pages of the samples.

pub(crate) mod pages;
pub(crate) mod sorting;

use std::sync::{Arc, Mutex};

use crate::error::PhaseError;
use crate::index::pages::{PagePool, Pile, Piles};
use crate::index::sorting::Sorter;
use crate::settings::Settings;
use crate::workers::Workers;

/// A sample and the previous one with the same fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) at: u64,
    pub(crate) before: u64,
}

/// The links of a window, by position.
pub(crate) struct Index {
    shape: Shape,
    zones: Vec<Zone>,
}

/// Bit layout of links and positions.
#[derive(Clone, Copy)]
struct Shape {
    position_bits: u32,
    zone_bits: u32,
    granule_bits: u32,
    /// Samples from this position on are not linked to one another; 0 if all samples may be linked.
    reference: u64,
}

/// The links of a zone, sorted.
struct Zone {
    links: Pile,
    /// For each granule, the number of links before it.
    directory: Vec<u32>,
}

impl Index {
    /// Builds the index from the shards of samples.
    pub(crate) fn new(
        settings: &Settings,
        shards: Vec<Mutex<Pile>>,
        pool: &Arc<PagePool>,
        workers: &Workers,
    ) -> Result<Self, PhaseError> {
        let shape = Shape {
            position_bits: settings.position_bits(),
            zone_bits: settings.zone_bits(),
            granule_bits: settings.granule().trailing_zeros(),
            reference: settings.reference(),
        };
        let count = ((settings.length() >> shape.zone_bits) + 1) as usize;
        let begin_pool = Arc::clone(pool);
        let job_pool = Arc::clone(pool);
        let linked = workers.each(
            shards.len(),
            move || (Sorter::default(), Piles::new(count, &begin_pool)),
            move |(sorter, zones), number| {
                pages::take_pile(&shards[number]).flatten(&mut sorter.words, &job_pool);
                sorter.sort(64);
                shape.link(&sorter.words, zones);
                Ok(())
            },
        )?;
        let piles = Piles::merge(linked.into_iter().map(|(_, zones)| zones).collect(), count);
        let pool = Arc::clone(pool);
        let sorted = workers.each(
            count,
            || (Sorter::default(), Vec::new()),
            move |(sorter, zones), number| {
                pages::take_pile(&piles[number]).flatten(&mut sorter.words, &pool);
                sorter.sort(shape.position_bits + shape.zone_bits);
                zones.push((number, Zone::new(shape, &sorter.words, &pool)));
                Ok(())
            },
        )?;
        let mut zones: Vec<(usize, Zone)> = sorted.into_iter().flat_map(|(_, zones)| zones).collect();
        zones.sort_unstable_by_key(|(number, _)| *number);
        Ok(Self { shape, zones: zones.into_iter().map(|(_, zone)| zone).collect() })
    }

    /// The links of the samples from `at` to the end of the zone, in order.
    pub(crate) fn from(&self, at: u64) -> impl Iterator<Item = Link> {
        let number = at >> self.shape.zone_bits;
        let base = number << self.shape.zone_bits;
        let zone = self.zones.get(number as usize);
        let words = zone.map(|zone| zone.words(zone.seek(self.shape, self.shape.within(at))));
        words.into_iter().flatten().map(move |word| self.shape.unpacked(base, word))
    }

    /// The predecessor of the sample at `at`, if it has one.
    pub(crate) fn before(&self, at: u64) -> Option<u64> {
        let zone = self.zones.get((at >> self.shape.zone_bits) as usize)?;
        let within = self.shape.within(at);
        let word = zone.links.get(zone.seek(self.shape, within))?;
        (word >> self.shape.position_bits == within).then(|| word & self.shape.mask())
    }
}

impl Shape {
    /// Puts the links of a sorted shard into zones.
    fn link(self, samples: &[u64], zones: &mut Piles) {
        let Some((first, later)) = samples.split_first() else { return };
        // The last sample that later samples may be linked to.
        let mut known = *first;
        for sample in later {
            if known >> self.position_bits == sample >> self.position_bits {
                let before = known & self.mask();
                let at = sample & self.mask();
                if self.is_linkable(before) {
                    zones.push((at >> self.zone_bits) as usize, self.within(at) << self.position_bits | before);
                }
                known = if self.is_linkable(at) { *sample } else { known };
            } else {
                known = *sample;
            }
        }
    }

    /// Whether later samples may be linked to a sample at `at`.
    fn is_linkable(self, at: u64) -> bool {
        self.reference == 0 || at < self.reference
    }

    fn within(self, at: u64) -> u64 {
        at & ((1 << self.zone_bits) - 1)
    }

    fn unpacked(self, base: u64, word: u64) -> Link {
        Link { at: base + (word >> self.position_bits), before: word & self.mask() }
    }

    fn mask(self) -> u64 {
        (1 << self.position_bits) - 1
    }

    fn granule(self, word: u64) -> usize {
        (word >> self.position_bits >> self.granule_bits) as usize
    }
}

impl Zone {
    fn new(shape: Shape, words: &[u64], pool: &PagePool) -> Self {
        let mut directory: Vec<u32> = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let granule = shape.granule(*word);
            if directory.len() <= granule {
                directory.resize(granule + 1, index as u32);
            }
        }
        directory.shrink_to_fit();
        Self { links: Pile::from_entries(words, pool), directory }
    }

    /// The index of the first link of a sample at or after `within`, or the number of links.
    fn seek(&self, shape: Shape, within: u64) -> usize {
        let first = self.directory.get((within >> shape.granule_bits) as usize);
        let mut index = first.map_or(usize::MAX, |first| *first as usize);
        while self.links.get(index).is_some_and(|word| word >> shape.position_bits < within) {
            index += 1;
        }
        index
    }

    fn words(&self, index: usize) -> impl Iterator<Item = u64> {
        (index..usize::MAX).map_while(|index| self.links.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of samples (fingerprint, position), which are in shard 0, unsorted.
    fn index(settings: &Settings, samples: &[(u64, u64)]) -> Index {
        let pool = Arc::<PagePool>::default();
        let mut shards = Piles::new(1, &pool);
        for (fingerprint, at) in samples {
            shards.push(0, fingerprint << settings.position_bits() | at);
        }
        let workers = Workers::new(1, &|| false).unwrap();
        Index::new(settings, Piles::merge(vec![shards], 1), &pool, &workers).unwrap()
    }

    #[test]
    fn links_lead_to_the_last_sample_before_with_the_same_fingerprint() {
        let length = 5 << 32;
        let settings = Settings::new(1, length);
        let far = length - 100;
        let index = index(&settings, &[(7, far), (7, 50), (8, 60), (9, 70), (7, 1 << 33), (9, 71)]);
        let all = |from| index.from(from).map(|link| (link.at, link.before)).collect::<Vec<_>>();
        assert_eq!(all(0), [(71, 70)]);
        assert_eq!(all(72), []);
        assert_eq!(all(1 << 33), [(1 << 33, 50)]);
        assert_eq!(index.before(far), Some(1 << 33));
        assert_eq!(index.before(1 << 33), Some(50));
        assert_eq!((index.before(50), index.before(60), index.before(far - 1)), (None, None, None));
    }

    #[test]
    fn finds_every_link_of_many() {
        let length = 64 << 20;
        let settings = Settings::new(9, length);
        let samples: Vec<(u64, u64)> = (0..50_000).map(|n| (n * 7919 % 1000, n * 1301)).collect();
        let index = index(&settings, &samples);
        let mut last = vec![None; 1000];
        for (fingerprint, at) in samples {
            assert_eq!(index.before(at), last[fingerprint as usize].replace(at), "at {at}");
        }
    }
}
