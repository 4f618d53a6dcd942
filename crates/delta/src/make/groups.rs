//! Builds groups from the matches between NEW and OLD.

use std::ops::Range;

use crate::format::group::{Entry, Expected, Group};
use crate::format::{COPY_LEAST, ENTRIES_MOST, LITERALS_MOST, REFERENCE_MOST};

/// Upper bound for the literals of an entry, so that a group has several entries.
const LITERALS_STEP: u64 = LITERALS_MOST as u64 / 4;
/// Ranges of OLD with at most this many bytes between them are joined.
const NEAR: u64 = 1024;
/// The bytes of OLD before and after a short match that belong to the match's extra.
const AROUND_EXTRA: u64 = 64;

/// A group, and the position of its bytes in the plain form of NEW.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedGroup {
    pub(super) group: Group,
    pub(super) start: u64,
}

impl PlannedGroup {
    /// Returns the ranges of the group's literals in the plain form of NEW.
    pub(super) fn literals(&self) -> Vec<Range<u64>> {
        let mut at = self.start;
        let ranges = self.group.entries.iter().map(|entry| {
            let start = at;
            at += u64::from(entry.literals) + entry.copy;
            start..start + u64::from(entry.literals)
        });
        ranges.filter(|range| !range.is_empty()).collect()
    }
}

/// Builds groups from matches in the order of NEW.
#[derive(Debug)]
pub(super) struct GroupBuilder {
    /// Length of the plain form of OLD in bytes.
    old: u64,
    /// All bytes of NEW before this position are in entries.
    at: u64,
    expected: Expected,
    planned: PlannedGroup,
    literals: u64,
    /// Upper bound for the bytes of the group's reference.
    reference: u64,
    /// The sources of short matches after `at`.
    short: Vec<Range<u64>>,
    done: Vec<PlannedGroup>,
}

impl GroupBuilder {
    pub(super) fn new(old: u64) -> GroupBuilder {
        let planned = PlannedGroup { group: Group::default(), start: 0 };
        let short = Vec::new();
        let done = Vec::new();
        GroupBuilder { old, at: 0, expected: Expected(0), planned, literals: 0, reference: 0, short, done }
    }

    /// Adds a match: `length` bytes of NEW from byte `at` equal those of OLD from byte `source`.
    pub(super) fn add(&mut self, at: u64, length: u64, source: u64) {
        if length >= COPY_LEAST {
            self.literals_to(at, Some((length, source)));
            return;
        }
        // A match that is far from the expected position gets an extra in the reference.
        let expected = Expected(self.expected.0);
        if !Group::is_around(&(source..source + length), at + length - self.at, expected) {
            self.add_short(source, length);
        }
        if at + length - self.at >= LITERALS_STEP {
            self.literals_to(at + length, None);
        }
    }

    fn add_short(&mut self, source: u64, length: u64) {
        let range = source.saturating_sub(AROUND_EXTRA)..(source + length + AROUND_EXTRA).min(self.old);
        match self.short.last_mut().filter(|last| range.start >= last.start && range.start <= last.end + NEAR) {
            Some(last) => last.end = last.end.max(range.end),
            None => self.short.push(range),
        }
    }

    /// Adds entries for all bytes before `end`, and then a copy.
    fn literals_to(&mut self, end: u64, copy: Option<(u64, u64)>) {
        while end - self.at > LITERALS_STEP {
            self.push(Entry { literals: LITERALS_STEP as u32, copy: 0, source: 0 });
        }
        let literals = (end - self.at) as u32;
        let (copy, source) = copy.unwrap_or_default();
        if literals > 0 || copy > 0 {
            self.push(Entry { literals, copy, source });
        }
    }

    fn push(&mut self, entry: Entry) {
        let literals = u64::from(entry.literals);
        let short: u64 = self.short.iter().map(|range| range.end - range.start).sum();
        let cost = if literals > 0 { Group::reference_cost(literals) } else { 0 };
        let full = self.literals + literals > LITERALS_MOST as u64
            || self.reference + cost + short > REFERENCE_MOST as u64
            || self.planned.group.entries.len() == ENTRIES_MOST
            || self.planned.group.extras.len() + self.short.len() > ENTRIES_MOST;
        if full {
            self.close();
        }
        self.keep_short(REFERENCE_MOST as u64 - self.reference - cost);
        self.literals += literals;
        self.reference += cost;
        self.at += literals + entry.copy;
        self.expected.pass(&entry);
        self.planned.group.entries.push(entry);
    }

    /// Adds the ranges of short matches to the group, as far as the reference has space for them.
    fn keep_short(&mut self, mut left: u64) {
        self.short.truncate(ENTRIES_MOST);
        for range in self.short.drain(..) {
            let bytes = range.end - range.start;
            if bytes <= left {
                left -= bytes;
                self.reference += bytes;
                self.planned.group.extras.push(range);
            }
        }
    }

    fn close(&mut self) {
        let group = Group { expected: self.expected.0, ..Group::default() };
        let planned = std::mem::replace(&mut self.planned, PlannedGroup { group, start: self.at });
        if !planned.group.entries.is_empty() {
            self.done.push(planned);
        }
        self.literals = 0;
        self.reference = 0;
    }

    /// Returns the complete groups.
    pub(super) fn take(&mut self) -> impl Iterator<Item = PlannedGroup> + use<> {
        std::mem::take(&mut self.done).into_iter()
    }

    /// Ends the groups at the end of NEW, which has `new` bytes.
    pub(super) fn finish(&mut self, new: u64) {
        self.literals_to(new, None);
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: u64 = 50 << 20;

    fn built(new: u64, matches: &[(u64, u64, u64)]) -> Vec<PlannedGroup> {
        let mut builder = GroupBuilder::new(OLD);
        matches.iter().for_each(|&(at, length, source)| builder.add(at, length, source));
        builder.finish(new);
        builder.take().collect()
    }

    /// The groups are all of NEW, each can be read, and each copy is one of the matches.
    fn check(new: u64, matches: &[(u64, u64, u64)]) -> Result<(), TestCaseError> {
        let mut at = 0;
        for planned in built(new, matches) {
            prop_assert_eq!(planned.start, at);
            let decoded = Group::decode(&planned.group.encode(), OLD);
            prop_assert_eq!(decoded.as_ref().ok(), Some(&planned.group));
            for entry in &planned.group.entries {
                at += u64::from(entry.literals);
                let copy = (at, entry.copy, entry.source);
                prop_assert!(entry.copy == 0 || matches.contains(&copy), "{:?}", copy);
                at += entry.copy;
            }
            let literals: u64 = planned.literals().iter().map(|range| range.end - range.start).sum();
            prop_assert_eq!(literals, planned.group.literals());
        }
        prop_assert_eq!(at, new);
        Ok(())
    }

    proptest! {
        #[test]
        fn groups_are_all_of_new(pieces in proptest::collection::vec((0_u64..3 << 20, 32_u64..5000, 0..OLD - 5000), 0..60), rest in 0_u64..9 << 20) {
            let mut at = 0;
            let mut matches = Vec::new();
            for (gap, length, source) in pieces {
                matches.push((at + gap, length, source));
                at += gap + length;
            }
            check(at + rest, &matches)?;
        }

        #[test]
        fn many_short_matches_stay_within_the_limits(step in 40_u64..200, length in 32_u64..40, spread in 1_u64..OLD) {
            let sources = (0..).map(|number: u64| number.wrapping_mul(spread) % (OLD - 100));
            let matches: Vec<_> = (0..50_000).map(|number| number * step).zip(sources).map(|(at, source)| (at, length, source)).collect();
            check(50_000 * step, &matches)?;
        }
    }

    #[test]
    fn equal_files_are_one_group_without_literals() {
        let groups = built(40 << 20, &[(0, 40 << 20, 5)]);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].group.entries, [Entry { literals: 0, copy: 40 << 20, source: 5 }]);
        assert_eq!(built(0, &[]), []);
    }

    #[test]
    fn adds_distant_short_matches_to_the_reference() {
        let groups =
            built(10_000, &[(0, 2000, 0), (3000, 100, 3050), (4000, 100, 1 << 20), (4150, 100, (1 << 20) + 150)]);
        let extra = (1 << 20) - 64..(1 << 20) + 150 + 100 + 64;
        assert_eq!(groups[0].group.extras, [extra], "one near the change needs none");
    }
}
