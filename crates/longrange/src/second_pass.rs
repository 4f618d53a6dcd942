//! The result of the first pass: the matches, and the gaps between them.

use std::ops::Range;

use crate::Match;

/// Keeps matches while all of them fit. After that it passes the kept and all later matches on.
pub(crate) struct Keeper<'a, E> {
    capacity: usize,
    kept: Option<Vec<Match>>,
    each: &'a mut dyn FnMut(Match) -> Result<(), E>,
}

impl<'a, E> Keeper<'a, E> {
    /// Keeps up to `capacity` matches.
    pub(crate) fn new(capacity: usize, each: &'a mut dyn FnMut(Match) -> Result<(), E>) -> Self {
        Self { capacity, kept: Some(Vec::with_capacity(capacity)), each }
    }

    pub(crate) fn add(&mut self, next: Match) -> Result<(), E> {
        match &mut self.kept {
            Some(kept) if kept.len() < self.capacity => {
                kept.push(next);
                Ok(())
            }
            kept => {
                kept.take().into_iter().flatten().try_for_each(&mut *self.each)?;
                (self.each)(next)
            }
        }
    }

    /// All matches, if none was passed on.
    pub(crate) fn into_kept(self) -> Option<Vec<Match>> {
        self.kept
    }
}

/// The gaps between matches.
pub(crate) struct Uncovered {
    matches: Vec<Match>,
    length: u64,
}

impl Uncovered {
    /// The gaps of `matches`, which are in order and do not overlap, in a window of `length` bytes.
    pub(crate) fn new(matches: Vec<Match>, length: u64) -> Self {
        Self { matches, length }
    }

    pub(crate) fn matches(&self) -> &[Match] {
        &self.matches
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.length - self.matches.iter().map(|found| found.length).sum::<u64>()
    }

    /// The gaps of at least `least` bytes within `range`, clipped to it.
    pub(crate) fn within(&self, range: &Range<u64>, least: u64) -> impl Iterator<Item = Range<u64>> {
        let start = range.start;
        let end = range.end;
        let first = self.matches.partition_point(|found| found.end() <= start);
        let last = first + self.matches[first..].partition_point(|found| found.at < end);
        let near = &self.matches[first..last];
        let starts = std::iter::once(start).chain(near.iter().map(Match::end));
        let ends = near.iter().map(|found| found.at).chain(std::iter::once(end));
        starts.zip(ends).filter(move |(start, end)| start + least <= *end).map(|(start, end)| start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at: u64, length: u64) -> Match {
        Match { at, length, distance: 1 }
    }

    #[test]
    fn keeps_matches_or_passes_them_on_in_order() {
        for (capacity, kept) in [(3, Some(3)), (4, Some(3)), (2, None), (0, None)] {
            let mut given = Vec::new();
            let mut each = |found| {
                given.push(found);
                Ok::<(), ()>(())
            };
            let mut keeper = Keeper::new(capacity, &mut each);
            let all = [at(1, 40), at(50, 40), at(100, 40)];
            assert!(all.iter().all(|found| keeper.add(*found).is_ok()));
            let list = keeper.into_kept();
            assert_eq!(list.as_ref().map(Vec::len), kept, "capacity {capacity}");
            assert_eq!([given, list.unwrap_or_default()].concat(), all, "capacity {capacity}");
        }
    }

    #[test]
    fn returns_uncovered_gaps_of_the_least_length() {
        let left = Uncovered::new(vec![at(100, 100), at(200, 50), at(281, 10), at(323, 77)], 500);
        let gaps = |range| left.within(&range, 32).collect::<Vec<_>>();
        assert_eq!(left.bytes(), 500 - 237);
        assert_eq!(gaps(0..500), [0..100, 291..323, 400..500], "31 bytes are too few, 32 are not");
        assert_eq!(gaps(0..68), vec![0..68]);
        assert_eq!(gaps(69..150), [], "too short after clipping");
        assert_eq!(gaps(120..200), []);
        assert_eq!(gaps(250..460), [291..323, 400..460]);
        assert_eq!(Uncovered::new(Vec::new(), 40).within(&(0..40), 32).collect::<Vec<_>>(), vec![0..40]);
    }
}
