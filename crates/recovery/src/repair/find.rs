//! Finds shards that moved after bytes were inserted or lost, by their content.

use std::ops::Range;

use packline_engine::CancelToken;
use packline_runtime::{Input, unless_cancelled};

use crate::hashing::{Rolling, appended, hash_shard};
use crate::readable::{STEP, read_damaged};
use crate::{Error, RecoverySet, Shape};

/// Binary logarithm of the filter's bits. The filter has 128 KiB, and 16384 shards set a sixtieth of its bits.
const FILTER_LOG: u32 = 20;

/// Sets the offsets of the missing shards that are found.
///
/// # Errors
/// [`Error::Work`] after a cancellation.
pub(crate) fn find(
    input: &dyn Input,
    set: &RecoverySet,
    offsets: &mut [Option<u64>],
    cancel: &CancelToken,
) -> Result<(), Error> {
    let shape = set.shape();
    // Reading a shard is wasted if its checksum matches but its hash does not. At most twice the file's size is wasted.
    let budget = 2 * (input.size() + shape.shard_bytes());
    let mut finder = Finder { input, set, shape, offsets, budget, buffer: Vec::new(), cancel };
    finder.find_duplicates();
    finder.shifted_tail();
    for region in finder.uncovered_regions() {
        finder.search(region)?;
    }
    Ok(())
}

struct Finder<'f> {
    input: &'f dyn Input,
    set: &'f RecoverySet,
    shape: Shape,
    offsets: &'f mut [Option<u64>],
    /// Bytes of wasted reads that are still allowed.
    budget: u64,
    buffer: Vec<u8>,
    cancel: &'f CancelToken,
}

impl Finder<'_> {
    /// Finds missing shards that have the content of present ones, which are often zeros.
    fn find_duplicates(&mut self) {
        let table = &self.set.table;
        let with_offset = |index: usize, offset: Option<u64>| Some((table[index].rolling, offset?));
        let mut present: Vec<(u64, u64)> =
            self.offsets.iter().enumerate().filter_map(|(index, &offset)| with_offset(index, offset)).collect();
        present.sort_unstable();
        for (index, entry) in table.iter().enumerate() {
            let first = present.partition_point(|&(sum, _)| sum < entry.rolling);
            if let Some(&(sum, at)) = present.get(first)
                && sum == entry.rolling
            {
                self.try_offset(index, at);
            }
        }
    }

    /// Tries the cheap case: everything after some point moved by the difference in size.
    fn shifted_tail(&mut self) {
        let size = self.input.size();
        let length = self.shape.length;
        for index in (0..self.offsets.len()).rev() {
            let shifted = (self.shape.start(index) + size).checked_sub(length);
            let found = shifted.is_some_and(|at| size != length && self.try_offset(index, at));
            if !found && self.offsets[index].is_none() && index + 2 < self.offsets.len() {
                return;
            }
        }
    }

    /// Records `at` as the offset of shard `index` if the shard was missing and is there. Returns whether it is.
    fn try_offset(&mut self, index: usize, at: u64) -> bool {
        let bytes = self.shape.bytes(index);
        let fits = at.checked_add(bytes).is_some_and(|end| end <= self.input.size());
        if !fits || self.offsets[index].is_some() || self.budget < bytes {
            return false;
        }
        let sums = hash_shard(self.input, &self.shape, index, at, false, &mut self.buffer);
        let found = sums.is_ok_and(|sums| self.set.table[index].matches(&sums.node));
        if found {
            self.offsets[index] = Some(at);
        } else {
            self.budget -= bytes;
        }
        found
    }

    /// Returns the parts of the file that no found shard covers. Each region starts early enough for a shard that ends in it.
    fn uncovered_regions(&self) -> Vec<Range<u64>> {
        let size = self.input.size();
        let window = self.shape.shard_bytes();
        let mut covered: Vec<(u64, u64)> = (0..)
            .zip(self.offsets.iter())
            .filter_map(|(index, offset)| offset.map(|at| (at, at + self.shape.bytes(index))))
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
        let mut missing = Missing::new(self.set, self.offsets);
        while at < end && !missing.is_empty() && self.budget >= window {
            let mut sum = self.sum_at(at)?;
            // Moves the window byte by byte until a shard is found, and then continues after that shard.
            loop {
                let steps = (end - at).min(STEP as u64) as usize;
                read_damaged(self.input, at, &mut leaving[..steps]);
                let enters = steps.min((self.input.size() - at - window) as usize);
                read_damaged(self.input, at + window, &mut entering[..enters]);
                let mut found_end = None;
                for step in 0..steps {
                    if missing.may_contain(sum) && self.budget >= window {
                        found_end = self.locate(&missing, sum, at + step as u64);
                        if found_end.is_some() {
                            break;
                        }
                    }
                    let into = if step < enters { entering[step] } else { 0 };
                    sum = rolling.moved(sum, leaving[step], into);
                }
                at = found_end.unwrap_or(at + steps as u64);
                if found_end.is_some() {
                    missing = Missing::new(self.set, self.offsets);
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

    /// Sets the offsets of the shards with this checksum that are at byte `at`, and of the shards that follow them there. Returns where the
    /// last of these shards ends.
    fn locate(&mut self, missing: &Missing, sum: u64, at: u64) -> Option<u64> {
        let mut last = None;
        for index in missing.with_checksum(sum) {
            // Several shards may have the same content.
            if self.try_offset(index, at) {
                last = Some(index);
            }
        }
        let mut next = last? + 1;
        let mut end = at + self.shape.shard_bytes();
        while next < self.offsets.len() && self.try_offset(next, end) {
            end += self.shape.bytes(next);
            next += 1;
        }
        Some(end)
    }
}

/// The missing shards of full length, by their checksums.
struct Missing {
    by_sum: Vec<(u64, usize)>,
    filter: Vec<u64>,
}

impl Missing {
    fn new(set: &RecoverySet, offsets: &[Option<u64>]) -> Missing {
        let shape = set.shape();
        let whole = |index: usize| shape.bytes(index) == shape.shard_bytes();
        let missing = (0..offsets.len()).filter(|&index| offsets[index].is_none() && whole(index));
        let mut by_sum: Vec<(u64, usize)> = missing.map(|index| (set.table[index].rolling, index)).collect();
        by_sum.sort_unstable();
        let mut filter = vec![0; 1 << (FILTER_LOG - 6)];
        by_sum.iter().for_each(|&(sum, _)| filter[word(sum)] |= bit(sum));
        Missing { by_sum, filter }
    }

    fn is_empty(&self) -> bool {
        self.by_sum.is_empty()
    }

    fn may_contain(&self, sum: u64) -> bool {
        self.filter[word(sum)] & bit(sum) != 0
    }

    fn with_checksum(&self, sum: u64) -> impl Iterator<Item = usize> + use<'_> {
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
