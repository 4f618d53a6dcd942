//! Groups: consecutive bytes of the plain form of NEW. A group has copies of bytes of the plain form of OLD, and literals between them.
//!
//! The literals of a group are compressed with a reference: the bytes of OLD around the positions where the literals would be if they
//! replaced bytes of OLD. Both the writer and the reader derive the reference from the copies ([`Group::reference`]).

use std::ops::Range;

use super::numbers::{Fault, Numbers, put, put_signed};
use super::{COPY_LEAST, ENTRIES_MOST, LITERALS_MOST, REFERENCE_MOST};

/// The bytes of OLD before and after a change that belong to the reference.
const AROUND: u64 = 256;
/// Upper bound for the bytes of the reference for each literal, so that a delta cannot demand work without a result. A single literal has
/// 1026 bytes around it, and short matches of 32 literals have at most 1216 bytes for each literal.
const REFERENCE_OF_LITERAL: u64 = 2048;
/// Lower bound for the literals for each extra, because a block of OLD may have to be decoded for an extra. A short match has 32 literals.
const LITERALS_OF_EXTRA: u64 = 16;
/// The longest copy and the largest position, in bytes.
const LONGEST: u64 = 1 << 62;

/// Literals, and the copy that follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) literals: u32,
    /// Length of the copy in bytes; 0 if there is no copy.
    pub(crate) copy: u64,
    /// Start of the copy in the plain form of OLD.
    pub(crate) source: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// The position in OLD where the first literals would be if they replaced bytes of OLD.
    pub(crate) expected: u64,
    pub(crate) entries: Vec<Entry>,
    /// Additional ranges of OLD for the reference.
    pub(crate) extras: Vec<Range<u64>>,
}

/// Follows the position in OLD at which the next bytes are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected(pub(crate) u64);

impl Expected {
    /// Advances over the literals and the copy of an entry.
    pub(crate) fn pass(&mut self, entry: &Entry) {
        self.0 = if entry.copy > 0 { entry.source + entry.copy } else { self.0 + u64::from(entry.literals) };
    }
}

impl Group {
    /// Upper bound for the bytes that an entry adds to the reference.
    pub(crate) fn reference_cost(literals: u64) -> u64 {
        2 * literals + 4 * AROUND
    }

    /// Returns the ranges of OLD that always belong to the reference of an entry: around the expected position of the literals, and before
    /// the copy. OLD has `old` bytes.
    fn around(entry: &Entry, expected: Expected, old: u64) -> [Range<u64>; 2] {
        let literals = u64::from(entry.literals);
        let clipped = |start: u64, end: u64| start.min(old)..end.min(old);
        if literals == 0 {
            return [0..0, 0..0];
        }
        let around = clipped(expected.0.saturating_sub(AROUND), expected.0 + literals + AROUND);
        let before = clipped(entry.source.saturating_sub(literals + AROUND), entry.source + AROUND);
        [around, if entry.copy > 0 { before } else { 0..0 }]
    }

    /// Whether a range of OLD always belongs to the reference of literals at the expected position.
    pub(crate) fn is_around(range: &Range<u64>, literals: u64, expected: Expected) -> bool {
        range.start + AROUND >= expected.0 && range.end <= expected.0 + literals + AROUND
    }

    /// Returns the ranges of the plain form of OLD that are the reference, in order and without overlaps.
    pub(crate) fn reference(&self, old: u64) -> Vec<Range<u64>> {
        let mut ranges = self.extras.clone();
        let mut expected = Expected(self.expected);
        for entry in &self.entries {
            ranges.extend(Group::around(entry, expected, old));
            expected.pass(entry);
        }
        ranges.retain(|range| range.start < range.end);
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => merged.push(range),
            }
        }
        merged
    }

    pub(crate) fn literals(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.literals)).sum()
    }

    /// The memory of the group in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.extras.capacity() * size_of::<Range<u64>>()
    }

    /// Encodes the group as numbers: the expected position; the counts of entries and extras; the start and length of each extra, with the
    /// start relative to the end of the previous extra; the literals of all entries; the copies of all entries; and for each copy its start
    /// relative to its expected position.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.expected);
        put(&mut out, self.entries.len() as u64);
        put(&mut out, self.extras.len() as u64);
        let mut end = self.expected;
        for extra in &self.extras {
            put_signed(&mut out, distance(end, extra.start));
            put(&mut out, extra.end - extra.start);
            end = extra.end;
        }
        self.entries.iter().for_each(|entry| put(&mut out, entry.literals.into()));
        self.entries.iter().for_each(|entry| put(&mut out, entry.copy));
        let mut expected = Expected(self.expected);
        for entry in &self.entries {
            if entry.copy > 0 {
                put_signed(&mut out, distance(expected.0 + u64::from(entry.literals), entry.source));
            }
            expected.pass(entry);
        }
        out
    }

    /// Decodes a group for an OLD whose plain form has `old` bytes.
    pub(crate) fn decode(bytes: &[u8], old: u64) -> Result<Group, Fault> {
        let mut numbers = Numbers::new(bytes);
        let expected = numbers.at_most(LONGEST)?;
        let count = numbers.at_most(ENTRIES_MOST as u64)?;
        let extra_count = numbers.at_most(ENTRIES_MOST as u64)?;
        let extras = decode_extras(&mut numbers, extra_count, expected, old)?;
        let literals = many(&mut numbers, count, LITERALS_MOST as u64)?;
        let copies = many(&mut numbers, count, LONGEST)?;
        let mut group = Group { expected, entries: Vec::with_capacity(literals.len()), extras };
        let mut position = Expected(expected);
        for (literals, copy) in literals.into_iter().zip(copies) {
            let mut entry = Entry { literals: literals as u32, copy, source: 0 };
            if copy > 0 {
                entry.source = moved(position.0 + literals, numbers.signed()?)?;
                within(entry.source, copy, old)?;
            }
            position.pass(&entry);
            // Without copies, the position could grow with each entry.
            within(position.0, 0, LONGEST)?;
            group.entries.push(entry);
        }
        numbers.end()?;
        group.check(old).map(|()| group)
    }

    /// Checks that no part of the group demands work without a result.
    fn check(&self, old: u64) -> Result<(), Fault> {
        let literals = self.literals();
        if self.entries.iter().any(|entry| if entry.copy > 0 { entry.copy < COPY_LEAST } else { entry.literals == 0 }) {
            return Err((
                "a group has an entry without literals, or with a short copy".into(),
                "a copy of at least 1024 bytes, or literals",
            ));
        }
        if self.extras.len() as u64 > literals / LITERALS_OF_EXTRA {
            let what = format!("a group with {literals} literals and {} extras", self.extras.len());
            return Err((what, "at most one extra for 16 literals"));
        }
        let reference: u64 = self.reference(old).iter().map(|range| range.end - range.start).sum();
        let most = (REFERENCE_MOST as u64).min(literals * REFERENCE_OF_LITERAL);
        if literals > LITERALS_MOST as u64 || reference > most {
            let what = format!("a group with {literals} literals and a reference of {reference} bytes");
            return Err((what, "fewer of both"));
        }
        Ok(())
    }
}

fn decode_extras(numbers: &mut Numbers<'_>, count: u64, expected: u64, old: u64) -> Result<Vec<Range<u64>>, Fault> {
    let mut extras = Vec::new();
    let mut end = expected;
    for _ in 0..count {
        let start = moved(end, numbers.signed()?)?;
        let length = numbers.at_most(LONGEST)?;
        within(start, length, old)?;
        end = start + length;
        extras.push(start..end);
    }
    Ok(extras)
}

fn many(numbers: &mut Numbers<'_>, count: u64, most: u64) -> Result<Vec<u64>, Fault> {
    (0..count).map(|_| numbers.at_most(most)).collect()
}

fn distance(from: u64, to: u64) -> i64 {
    to.cast_signed() - from.cast_signed()
}

fn moved(from: u64, by: i64) -> Result<u64, Fault> {
    let to = from.checked_add_signed(by).filter(|to| *to <= LONGEST);
    to.ok_or_else(|| ("a position outside of the old file".to_string(), "a position in it"))
}

fn within(start: u64, length: u64, end: u64) -> Result<(), Fault> {
    if start <= end && length <= end - start {
        return Ok(());
    }
    Err((format!("{length} bytes from byte {start} of an old file of {end} bytes"), "bytes within the old file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: u64 = 1_000_000;

    fn entry(literals: u32, copy: u64, source: u64) -> Entry {
        Entry { literals, copy, source }
    }

    fn group() -> Group {
        let entries = vec![entry(10, 5000, 2010), entry(0, 1700, 899_000), entry(2000, 0, 0), entry(300, 1024, 0)];
        Group { expected: 2000, entries, extras: vec![40_000..41_000, 5..9] }
    }

    #[test]
    fn decodes_the_group_that_it_encodes() {
        for group in [Group::default(), group()] {
            assert_eq!(Group::decode(&group.encode(), OLD).unwrap(), group);
        }
    }

    #[test]
    fn reference_surrounds_the_changes() {
        let [near, last] = [1744..2266, 900_444..902_956];
        // The fourth entry is expected where the third ended, and its copy is at the start.
        let reference = group().reference(OLD);
        assert_eq!(reference, [0..256, near, 40_000..41_000, last.start..903_256]);
        assert_eq!(group().reference(900_500).last(), Some(&(900_444..900_500)), "not beyond the end of the old file");
        assert_eq!(Group::default().reference(OLD), []);
    }

    #[test]
    fn rejects_ranges_outside_of_the_old_file() {
        assert!(Group::decode(&group().encode(), 900_699).is_err());
        let beyond = Group { expected: 0, entries: vec![entry(0, LONGEST, 0)], extras: vec![] };
        assert!(Group::decode(&beyond.encode(), OLD).is_err());
        let with = |extra| Group { extras: Vec::from([extra]), entries: vec![entry(0, 100, 0)], ..Group::default() };
        assert!(Group::decode(&with(0..5).encode(), OLD).is_err(), "a reference without literals");
        assert!(Group::decode(&with(OLD..OLD + 1).encode(), OLD).is_err());
        let useless = |extras, entry| Group { expected: 0, entries: vec![entry], extras };
        assert!(Group::decode(&useless(vec![], entry(0, 0, 0)).encode(), OLD).is_err(), "an entry of nothing");
        assert!(Group::decode(&useless(vec![], entry(9, 1023, 0)).encode(), OLD).is_err(), "a short copy");
        assert!(Group::decode(&useless(vec![], entry(9, 1024, 0)).encode(), OLD).is_ok());
        let extras = |count| useless(vec![0..1; count], entry(32, 0, 0)).encode();
        assert!(Group::decode(&extras(2), OLD).is_ok() && Group::decode(&extras(3), OLD).is_err());
        let large = Group { entries: vec![entry(LITERALS_MOST as u32, 0, 0)], ..with(0..OLD * 100) };
        assert!(Group::decode(&large.encode(), OLD * 100).is_err());
        let many = Group { entries: vec![entry(LITERALS_MOST as u32, 0, 0); 2], ..Group::default() };
        assert!(Group::decode(&many.encode(), OLD).is_err());
    }

    #[test]
    fn decodes_damaged_numbers_to_errors_or_groups_within_the_limits() {
        let whole = group().encode();
        for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            if let Ok(group) = Group::decode(&damaged, OLD) {
                assert!(group.check(OLD).is_ok());
            }
            assert!(Group::decode(&whole[..at], OLD).is_err());
        }
    }
}
