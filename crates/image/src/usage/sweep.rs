//! Divides bytes among the parties that use them.
//!
//! The bytes of a range are visited once, from the lowest to the highest. Between two neighbouring ends of extents, the set of parties is
//! constant: the bytes of this segment belong to its only party, or to all of its parties in equal shares. Sums of own bytes and of shares
//! from the start on are kept, and an extent has the difference between its end and its start. So the work is n log n for n extents, even if
//! all of them overlap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::fixed::Fixed;

/// A party that uses bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    /// A structure of the metadata, by its number. The bytes are not shared with files.
    Metadata(u16),
    /// A file, by its number.
    File(u32),
    /// A shared unit, by its key.
    Unit(u32),
}

/// Consecutive bytes that a party uses. The extents of one party do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) party: Party,
}

/// How a file or a shared unit uses an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) party: Party,
    /// Bytes that no other party uses.
    pub(super) own: u64,
    /// Bytes that other parties use, too.
    pub(super) shared: u64,
    /// The share of the shared bytes.
    pub(super) share: Fixed,
    /// Maximum number of parties of a byte, itself included; 0 if the metadata has all bytes.
    pub(super) parties: u32,
}

/// How all bytes of a range are used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Swept {
    /// Bytes of each structure of the metadata.
    pub(super) metadata: Vec<u64>,
    /// Bytes of files and shared units.
    pub(super) used: u64,
    /// Bytes of no party.
    pub(super) unused: u64,
}

/// An extent that has started and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Active {
    end: u64,
    /// Makes the order complete.
    number: u64,
    party: Party,
    before: Sums,
}

/// Sums from the start of the range on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Sums {
    own: u64,
    shared: u64,
    share: Fixed,
    /// Number of segments.
    segments: u64,
}

/// The number of parties of past segments, as far as it can be a maximum: later ones have fewer parties.
#[derive(Debug, Default)]
struct Maxima(Vec<(u64, u32)>);

impl Maxima {
    fn add(&mut self, segment: u64, parties: u32) {
        while self.0.pop_if(|(_, other)| *other <= parties).is_some() {}
        self.0.push((segment, parties));
    }

    /// Returns the maximum from a segment on.
    fn since(&self, segment: u64) -> u32 {
        let first = self.0.partition_point(|(other, _)| *other < segment);
        self.0.get(first).map_or(0, |(_, parties)| *parties)
    }
}

struct Sweep<'e> {
    at: u64,
    sums: Sums,
    maxima: Maxima,
    active: BinaryHeap<Reverse<Active>>,
    /// Active extents of files and units.
    parties: u32,
    /// Active extents of each structure of the metadata.
    structures: Vec<u32>,
    /// Active extents of the metadata.
    metadata: u32,
    swept: Swept,
    each: &'e mut dyn FnMut(Used),
}

/// Divides the bytes of `range` among `extents`, which are sorted and may end after the range. Calls `each` for each extent of a file or a unit,
/// in the order of their ends. `structures`: the number of structures of the metadata.
pub(super) fn sweep(extents: &[Extent], range: Range<u64>, structures: usize, each: &mut dyn FnMut(Used)) -> Swept {
    let swept = Swept { metadata: vec![0; structures], ..Swept::default() };
    let mut sweep = Sweep {
        at: range.start,
        sums: Sums::default(),
        maxima: Maxima::default(),
        active: BinaryHeap::new(),
        parties: 0,
        structures: vec![0; structures],
        metadata: 0,
        swept,
        each,
    };
    for (number, extent) in (0..).zip(extents) {
        let start = extent.start.clamp(range.start, range.end);
        sweep.advance(start);
        sweep.begin(Active {
            end: extent.end.clamp(start, range.end),
            number,
            party: extent.party,
            before: Sums::default(),
        });
    }
    sweep.advance(range.end);
    sweep.swept
}

impl Sweep<'_> {
    /// Moves to an offset, and ends extents up to there.
    fn advance(&mut self, to: u64) {
        while let Some(Reverse(first)) = self.active.peek().copied().filter(|Reverse(first)| first.end <= to) {
            self.step(first.end);
            self.active.pop();
            self.end(first);
        }
        self.step(to);
    }

    /// Divides the bytes up to an offset among the active parties.
    fn step(&mut self, to: u64) {
        let bytes = to - self.at;
        if bytes == 0 {
            return;
        }
        self.at = to;
        let parties = if self.metadata > 0 {
            let first = self.structures.iter().position(|active| *active > 0).unwrap_or_default();
            self.swept.metadata[first] += bytes;
            0
        } else {
            let sum = if self.parties == 0 { &mut self.swept.unused } else { &mut self.swept.used };
            *sum += bytes;
            self.parties
        };
        match parties {
            0 => {}
            1 => self.sums.own += bytes,
            _ => {
                self.sums.shared += bytes;
                self.sums.share = self.sums.share.plus(Fixed::whole(bytes).divided(parties));
            }
        }
        self.maxima.add(self.sums.segments, parties);
        self.sums.segments += 1;
    }

    fn begin(&mut self, active: Active) {
        match active.party {
            Party::Metadata(structure) => {
                self.structures[usize::from(structure)] += 1;
                self.metadata += 1;
            }
            Party::File(_) | Party::Unit(_) => {
                if self.parties == 0 {
                    self.maxima.0.clear();
                }
                self.parties += 1;
            }
        }
        self.active.push(Reverse(Active { before: self.sums, ..active }));
    }

    fn end(&mut self, ended: Active) {
        if let Party::Metadata(structure) = ended.party {
            self.structures[usize::from(structure)] -= 1;
            self.metadata -= 1;
            return;
        }
        self.parties -= 1;
        let Sums { own, shared, share, segments } = ended.before;
        (self.each)(Used {
            party: ended.party,
            own: self.sums.own - own,
            shared: self.sums.shared - shared,
            share: self.sums.share.minus(share),
            parties: self.maxima.since(segments),
        });
    }
}

/// Sorts the ranges of one party, and joins those that overlap or touch.
pub(super) fn join(ranges: &mut Vec<Range<u64>>) {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|range, before| {
        let joins = range.start <= before.end;
        if joins {
            before.end = before.end.max(range.end);
        }
        joins
    });
}

/// Returns the number of bytes in at least one of sorted extents.
pub(super) fn covered(extents: &[Extent]) -> u64 {
    let mut end = 0;
    let mut bytes = 0;
    for extent in extents {
        bytes += extent.end.saturating_sub(extent.start.max(end));
        end = end.max(extent.end);
    }
    bytes
}
