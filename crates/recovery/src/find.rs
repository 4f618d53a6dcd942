//! Finds shards that are not at their places by what is in them: after bytes were inserted or lost.

use std::ops::Range;

use packline_engine::CancelToken;
use packline_runtime::{Input, unless_cancelled};

use crate::readable::{STEP, read_damaged};
use crate::rolling::{Rolling, appended};
use crate::survey::sums_at;
use crate::{Error, RecoverySet, Shape};

/// Bits of the filter, a power of two: 128 KiB, of which 16384 shards set a sixtieth.
const FILTER_LOG: u32 = 20;

/// Sets the places of shards that are missing, where they are found.
///
/// # Errors
/// [`Error::Work`].
pub(crate) fn find(
    input: &dyn Input,
    set: &RecoverySet,
    places: &mut [Option<u64>],
    cancel: &CancelToken,
) -> Result<(), Error> {
    let shape = set.shape();
    // Where a checksum is right and the hash is not, a shard was read for nothing. No more may be read than twice the file.
    let spare = 2 * (input.size() + shape.shard_bytes());
    let mut finder = Finder { input, set, shape, places, spare, buffer: Vec::new(), cancel };
    finder.equals();
    finder.shifted_tail();
    for region in finder.unexplained() {
        finder.search(region)?;
    }
    Ok(())
}

struct Finder<'f> {
    input: &'f dyn Input,
    set: &'f RecoverySet,
    shape: Shape,
    places: &'f mut [Option<u64>],
    /// Bytes that may still be read in vain.
    spare: u64,
    buffer: Vec<u8>,
    cancel: &'f CancelToken,
}

impl Finder<'_> {
    /// Missing shards with the content of others that are there: zeros, often.
    fn equals(&mut self) {
        let table = &self.set.table;
        let of_place = |index: usize, place: Option<u64>| Some((table[index].rolling, place?));
        let mut there: Vec<(u64, u64)> =
            self.places.iter().enumerate().filter_map(|(index, &place)| of_place(index, place)).collect();
        there.sort_unstable();
        for (index, entry) in table.iter().enumerate() {
            let first = there.partition_point(|&(sum, _)| sum < entry.rolling);
            if let Some(&(sum, at)) = there.get(first)
                && sum == entry.rolling
            {
                self.is_at(index, at);
            }
        }
    }

    /// The cheap case: everything behind some point has moved by the difference in size.
    fn shifted_tail(&mut self) {
        let size = self.input.size();
        let length = self.shape.length;
        for index in (0..self.places.len()).rev() {
            let shifted = (self.shape.start(index) + size).checked_sub(length);
            let found = shifted.is_some_and(|at| size != length && self.is_at(index, at));
            if !found && self.places[index].is_none() && index + 2 < self.places.len() {
                return;
            }
        }
    }

    /// Whether a missing shard is at byte `at`; if so, that is its place.
    fn is_at(&mut self, index: usize, at: u64) -> bool {
        let bytes = self.shape.bytes(index);
        let fits = at.checked_add(bytes).is_some_and(|end| end <= self.input.size());
        if !fits || self.places[index].is_some() || self.spare < bytes {
            return false;
        }
        let sums = sums_at(self.input, &self.shape, index, at, false, &mut self.buffer);
        let found = sums.is_ok_and(|sums| self.set.table[index].is_of(&sums.node));
        if found {
            self.places[index] = Some(at);
        } else {
            self.spare -= bytes;
        }
        found
    }

    /// The parts of the file that no shard was found to cover, each with as many bytes before it as a shard can begin there.
    fn unexplained(&self) -> Vec<Range<u64>> {
        let size = self.input.size();
        let window = self.shape.shard_bytes();
        let mut covered: Vec<(u64, u64)> = (0..)
            .zip(self.places.iter())
            .filter_map(|(index, place)| place.map(|at| (at, at + self.shape.bytes(index))))
            .collect();
        covered.sort_unstable();
        covered.push((size, size));
        let mut regions = Vec::new();
        let mut at = 0;
        for (start, end) in covered {
            if start > at {
                regions.push((at.saturating_sub(window - 1))..start);
            }
            at = at.max(end);
        }
        regions
    }

    /// Searches for shards that begin in a region.
    fn search(&mut self, region: Range<u64>) -> Result<(), Error> {
        let window = self.shape.shard_bytes();
        let rolling = Rolling::new(window);
        let end = region.end.min((self.input.size() + 1).saturating_sub(window));
        let mut at = region.start;
        let mut leaving = vec![0; STEP];
        let mut entering = vec![0; STEP];
        let mut missing = Missing::new(self.set, self.places);
        while at < end && !missing.is_empty() && self.spare >= window {
            let mut sum = self.sum_at(at)?;
            // Windows that follow each other, until a shard is found: then on behind it.
            loop {
                let steps = (end - at).min(STEP as u64) as usize;
                read_damaged(self.input, at, &mut leaving[..steps]);
                let enters = steps.min((self.input.size() - at - window) as usize);
                read_damaged(self.input, at + window, &mut entering[..enters]);
                let mut behind = None;
                for step in 0..steps {
                    if missing.may_have(sum) && self.spare >= window {
                        behind = self.found_at(&missing, sum, at + step as u64);
                        if behind.is_some() {
                            break;
                        }
                    }
                    let into = if step < enters { entering[step] } else { 0 };
                    sum = rolling.moved(sum, leaving[step], into);
                }
                at = behind.unwrap_or(at + steps as u64);
                if behind.is_some() {
                    missing = Missing::new(self.set, self.places);
                    break;
                }
                if at >= end {
                    break;
                }
                self.check_cancelled()?;
            }
        }
        Ok(())
    }

    fn check_cancelled(&self) -> Result<(), Error> {
        Ok(unless_cancelled(self.cancel)?)
    }

    fn sum_at(&mut self, at: u64) -> Result<u64, Error> {
        self.check_cancelled()?;
        let mut sum = 0;
        self.buffer.resize(STEP, 0);
        for (offset, length) in crate::readable::steps(at, self.shape.shard_bytes()) {
            let bytes = &mut self.buffer[..length];
            read_damaged(self.input, offset, bytes);
            sum = appended(sum, bytes);
        }
        Ok(sum)
    }

    /// Sets the places of the shards with this checksum that are at byte `at`, and of those that follow them there. Returns where the
    /// last of them ends.
    fn found_at(&mut self, missing: &Missing, sum: u64, at: u64) -> Option<u64> {
        let mut last = None;
        for index in missing.with(sum) {
            // Shards may be alike.
            if self.is_at(index, at) {
                last = Some(index);
            }
        }
        let mut next = last? + 1;
        let mut end = at + self.shape.shard_bytes();
        while next < self.places.len() && self.is_at(next, end) {
            end += self.shape.bytes(next);
            next += 1;
        }
        Some(end)
    }
}

/// The whole shards that are missing, by their checksums.
struct Missing {
    by_sum: Vec<(u64, usize)>,
    filter: Vec<u64>,
}

impl Missing {
    fn new(set: &RecoverySet, places: &[Option<u64>]) -> Missing {
        let shape = set.shape();
        let whole = |index: usize| shape.bytes(index) == shape.shard_bytes();
        let missing = (0..places.len()).filter(|&index| places[index].is_none() && whole(index));
        let mut by_sum: Vec<(u64, usize)> = missing.map(|index| (set.table[index].rolling, index)).collect();
        by_sum.sort_unstable();
        let mut filter = vec![0; 1 << (FILTER_LOG - 6)];
        by_sum.iter().for_each(|&(sum, _)| filter[word(sum)] |= bit(sum));
        Missing { by_sum, filter }
    }

    fn is_empty(&self) -> bool {
        self.by_sum.is_empty()
    }

    fn may_have(&self, sum: u64) -> bool {
        self.filter[word(sum)] & bit(sum) != 0
    }

    fn with(&self, sum: u64) -> impl Iterator<Item = usize> + use<'_> {
        let first = self.by_sum.partition_point(|&(other, _)| other < sum);
        self.by_sum[first..].iter().take_while(move |&&(other, _)| other == sum).map(|&(_, index)| index)
    }
}

fn word(sum: u64) -> usize {
    (sum >> (64 - FILTER_LOG + 6)) as usize
}

fn bit(sum: u64) -> u64 {
    1 << ((sum >> (64 - FILTER_LOG)) & 63)
}
