//! Sorts evenly distributed words into buckets by their highest bits, then sorts each bucket.

/// Approximate words in a bucket.
const BUCKET: usize = 16;

/// Maximum number of buckets, whose ends must fit into the inner caches.
const BUCKETS_MOST: usize = 1 << 13;

/// Reused buffers for sorting.
#[derive(Default)]
pub(crate) struct Sorter {
    /// The words to sort, which [`Sorter::sort`] sorts in place.
    pub(crate) words: Vec<u64>,
    other: Vec<u64>,
    ends: Vec<u32>,
}

impl Sorter {
    /// Sorts the words of `bits` bits, whose high bits are more evenly distributed than the low bits.
    pub(crate) fn sort(&mut self, bits: u32) {
        let buckets = (self.words.len() / BUCKET).clamp(1, BUCKETS_MOST).next_power_of_two();
        let shift = bits.saturating_sub(buckets.trailing_zeros()).min(63);
        let bucket = |word: u64| ((word >> shift) as usize).min(buckets - 1);
        self.ends.clear();
        self.ends.resize(buckets, 0);
        self.words.iter().for_each(|word| self.ends[bucket(*word)] += 1);
        let mut sum = 0;
        self.ends.iter_mut().for_each(|end| sum += std::mem::replace(end, sum));
        self.other.clear();
        self.other.resize(self.words.len(), 0);
        for word in &self.words {
            let end = &mut self.ends[bucket(*word)];
            self.other[*end as usize] = *word;
            *end += 1;
        }
        std::mem::swap(&mut self.words, &mut self.other);
        self.sort_buckets();
    }

    fn sort_buckets(&mut self) {
        let mut rest = self.words.as_mut_slice();
        let mut start = 0;
        for end in &self.ends {
            let (bucket, after) = rest.split_at_mut((*end - start) as usize);
            bucket.sort_unstable();
            rest = after;
            start = *end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorts_words_of_any_distribution(words in proptest::collection::vec(any::<u64>(), 0..3000), low in 0_u32..40, many in any::<bool>()) {
            // Few different words, or words of fewer bits.
            let words: Vec<u64> = words.iter().map(|word| if many { word >> low } else { (word % 5) << low }).collect();
            let mut sorter = Sorter { words: words.clone(), ..Sorter::default() };
            sorter.sort(64 - if many { low } else { 0 });
            let mut expected = words;
            expected.sort_unstable();
            prop_assert_eq!(sorter.words, expected);
        }
    }
}
