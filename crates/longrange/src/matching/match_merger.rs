//! Merges the matches of all segments into the matches of the window: joins adjacent matches and removes overlaps.

use crate::{FindError, Match};

/// Passes matches on, but keeps the last one until it cannot be extended.
pub(crate) struct MatchMerger<'a, E> {
    least: u64,
    pending: Option<Match>,
    each: &'a mut dyn FnMut(Match) -> Result<(), E>,
}

impl<'a, E> MatchMerger<'a, E> {
    /// Passes matches to `each`, except matches that are shorter than `least` bytes after their overlaps are cut.
    pub(crate) fn new(least: u64, each: &'a mut dyn FnMut(Match) -> Result<(), E>) -> Self {
        Self { least, pending: None, each }
    }

    /// Adds the next match, which may begin within the last match but not before it.
    pub(crate) fn add(&mut self, next: Match) -> Result<(), FindError<E>> {
        let Some(last) = &mut self.pending else {
            self.pending = Some(next);
            return Ok(());
        };
        if next.end() <= last.end() {
            return Ok(());
        }
        if next.at <= last.end() && next.distance == last.distance {
            last.length = next.end() - last.at;
            return Ok(());
        }
        let at = next.at.max(last.end());
        let rest = Match { at, length: next.end() - at, ..next };
        if rest.at > next.at && rest.length < self.least {
            return Ok(());
        }
        self.pending.replace(rest).map_or(Ok(()), |done| (self.each)(done).map_err(FindError::Consumer))
    }

    pub(crate) fn finish(self) -> Result<(), FindError<E>> {
        self.pending.map_or(Ok(()), |done| (self.each)(done).map_err(FindError::Consumer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(matches: &[(u64, u64, u64)]) -> Vec<(u64, u64, u64)> {
        let mut given = Vec::new();
        let mut each = |found: Match| {
            given.push((found.at, found.length, found.distance));
            Ok::<(), ()>(())
        };
        let mut merger = MatchMerger::new(32, &mut each);
        for &(at, length, distance) in matches {
            assert!(merger.add(Match { at, length, distance }).is_ok());
        }
        assert!(merger.finish().is_ok());
        given
    }

    #[test]
    fn joins_neighbours_of_the_same_distance() {
        assert_eq!(merged(&[(100, 50, 9), (150, 50, 9), (200, 40, 9)]), [(100, 140, 9)]);
        assert_eq!(merged(&[(100, 50, 9), (151, 50, 9)]), [(100, 50, 9), (151, 50, 9)]);
        assert_eq!(merged(&[(100, 50, 9), (150, 50, 8)]), [(100, 50, 9), (150, 50, 8)]);
    }

    #[test]
    fn joins_cuts_or_drops_overlapping_matches() {
        assert_eq!(merged(&[(100, 50, 9), (120, 50, 9)]), [(100, 70, 9)], "joined");
        assert_eq!(merged(&[(100, 50, 9), (120, 80, 8)]), [(100, 50, 9), (150, 50, 8)], "cut");
        assert_eq!(merged(&[(100, 50, 9), (120, 50, 8)]), [(100, 50, 9)], "too short when cut");
        assert_eq!(merged(&[(100, 50, 9), (120, 30, 8), (120, 30, 9)]), [(100, 50, 9)], "within");
    }

    #[test]
    fn returns_the_first_error_of_the_consumer() {
        let mut each = |_: Match| Err("full");
        let mut merger = MatchMerger::new(32, &mut each);
        assert!(merger.add(Match { at: 1, length: 40, distance: 1 }).is_ok());
        assert!(matches!(merger.add(Match { at: 90, length: 40, distance: 1 }), Err(FindError::Consumer("full"))));
    }
}
