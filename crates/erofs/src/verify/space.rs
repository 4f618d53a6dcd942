//! The parts of an image: which stored bytes belong to something, and which compressed clusters overlap other parts.
//!
//! Several inodes may share a compressed cluster, but only all of it. Other bytes may be shared as they like, for example by chunks.
//!
//! Parts are kept for a range of addresses, which shrinks when they need more memory than allowed. The remaining addresses need another pass over
//! the inodes, with [`Space::next_range`].

use std::ops::Range;

/// Minimum number of parts that are kept.
const LEAST: usize = 4096;

/// What a part contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    /// Bytes that may be shared with any other plain part.
    Plain,
    /// A cluster that is compressed by this algorithm.
    Cluster(u8),
}

/// Consecutive bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) content: Use,
}

/// The parts of a range of addresses.
#[derive(Debug)]
pub(super) struct Space {
    parts: Vec<Part>,
    most: usize,
    range: Range<u64>,
    /// Whether two inodes have the same cluster.
    pub(super) has_shared: bool,
}

impl Space {
    /// Keeps parts of at most `memory` bytes, or a few thousand.
    pub(super) fn new(memory: usize) -> Space {
        let most = (memory / size_of::<Part>()).max(LEAST);
        Space { parts: Vec::new(), most, range: 0..u64::MAX, has_shared: false }
    }

    /// Adds a part; ignores parts outside of the current range.
    pub(super) fn add(&mut self, start: u64, length: u64, content: Use) {
        let end = start.saturating_add(length);
        if length == 0 || end <= self.range.start || start >= self.range.end {
            return;
        }
        if self.parts.len() == self.most {
            self.compact();
            if self.parts.len() > self.most / 2 {
                self.parts.truncate(self.most / 2);
                // At least one part starts before the last one, unless all start at the same address.
                self.range.end = self.parts.last().map_or(self.range.end, |last| last.start.max(self.range.start + 1));
                let end = self.range.end;
                self.parts.retain(|part| part.start < end);
            }
        }
        if start < self.range.end {
            self.parts.push(Part { start, end, content });
        }
    }

    /// Sorts the parts, and joins equal clusters and adjacent plain parts.
    fn compact(&mut self) {
        self.parts.sort_unstable();
        let mut has_shared = false;
        self.parts.dedup_by(|part, before| {
            if part.content != Use::Plain || before.content != Use::Plain {
                has_shared |= part == before;
                return part == before;
            }
            let joins = part.start <= before.end;
            if joins {
                before.end = before.end.max(part.end);
            }
            joins
        });
        self.has_shared |= has_shared;
    }

    /// Returns the current range and its parts, in the order of their addresses.
    pub(super) fn sorted(&mut self) -> (Range<u64>, &[Part]) {
        self.compact();
        (self.range.clone(), &self.parts)
    }

    /// Forgets all parts, and begins with the range after the current one; returns false after the last range.
    pub(super) fn next_range(&mut self) -> bool {
        self.parts.clear();
        self.range = self.range.end..u64::MAX;
        !self.range.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use super::*;

    #[test]
    fn joins_plain_parts_and_equal_clusters() {
        let mut space = Space::new(0);
        for (start, length, content) in
            [(10, 5, Use::Plain), (0, 10, Use::Plain), (30, 4, Use::Cluster(1)), (12, 9, Use::Plain)]
        {
            space.add(start, length, content);
        }
        let part = |start, end, content| Part { start, end, content };
        assert_eq!(space.sorted().1, [part(0, 21, Use::Plain), part(30, 34, Use::Cluster(1))]);
        assert!(!space.has_shared);
        space.add(30, 4, Use::Cluster(1));
        space.add(30, 4, Use::Cluster(2));
        assert_eq!(space.sorted().1.len(), 3);
        assert!(space.has_shared);
    }

    #[test]
    fn ranges_have_all_parts_together() {
        let mut random = Random::new(5);
        let starts: Vec<u64> = (0..20_000).map(|_| random.below(1 << 40) * 10).collect();
        let mut space = Space::new(0);
        let mut found = Vec::new();
        let mut passes = 0;
        loop {
            starts.iter().for_each(|start| space.add(*start, 4, Use::Cluster(0)));
            let (range, parts) = space.sorted();
            assert!(parts.len() <= LEAST);
            found.extend(parts.iter().map(|part| part.start).filter(|start| range.contains(start)));
            passes += 1;
            if !space.next_range() {
                break;
            }
        }
        let mut expected = starts;
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(found, expected);
        assert!((5..20).contains(&passes), "{passes}");
    }
}
