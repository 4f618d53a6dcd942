//! Reports differences in order, and compares the contents that the planner has queued.

use std::io;
use std::path::PathBuf;

use packline_runtime::memory::BASE;
use packline_runtime::{MemoryFault, is_zero};
use packline_volume::{ReadSettings, SharedUses};

use super::DIFF_METADATA;
use super::difference::{Difference, What};
use super::extract::Extraction;
use super::merge::Pair;
use super::planner::{Item, LINKS_PART, Planner, QUEUE, SharedPlanner, Which, links_share};
use super::side::Side;
use super::stream::{Stream, StreamPiece};
use super::{DiffRequest, DiffSummary};
use crate::read_plan::read_settings;
use crate::{Error, Resources};

/// Memory in bytes of one recorded use of a shared unit.
const USE: u64 = 4;

type Reporter<'f> = &'f mut dyn FnMut(&Difference) -> io::Result<bool>;

pub(super) struct Comparison<'p> {
    planner: SharedPlanner,
    old: Stream<'p>,
    new: Stream<'p>,
    extraction: Option<Extraction>,
    summary: DiffSummary,
}

impl<'p> Comparison<'p> {
    pub(super) fn new(
        old: &Side,
        new: &Side,
        request: &DiffRequest,
        planner: SharedPlanner,
    ) -> Result<Comparison<'p>, Error> {
        let [for_old, for_new] = shares(&request.resources);
        let limit = request.resources.memory;
        let for_old = Share::new(old, &for_old, limit)?;
        let for_new = Share::new(new, &for_new, limit)?;
        let [old_uses, new_uses] = uses(old, new, request, [&for_old, &for_new])?;
        let extraction = request.extract.as_ref().map(|place| Extraction::new(place, old, new)).transpose()?;
        Ok(Comparison {
            old: Stream::new(old, Which::Old, &planner, for_old.map(|share| (share.settings, old_uses)))?,
            new: Stream::new(new, Which::New, &planner, for_new.map(|share| (share.settings, new_uses)))?,
            planner,
            extraction,
            summary: DiffSummary { differences: 0, common: 0, compared_bytes: 0, fragments: Default::default() },
        })
    }

    pub(super) fn run(mut self, found: Reporter<'_>) -> Result<DiffSummary, Error> {
        let mut more = true;
        while more {
            // The streams borrow the planner, so it is released before they are read.
            let item = self.planner.borrow_mut().next_item();
            let Some(item) = item else { break };
            more = match item {
                Item::Found(difference, files) => {
                    if let (Some(extraction), Some(files)) = (&mut self.extraction, files) {
                        extraction.put(&difference.path, files.0.as_ref(), files.1.as_ref())?;
                    }
                    self.tell(&difference, found)?
                }
                Item::Contents(pair) => self.contents(&pair, found)?,
            };
        }
        self.summary.fragments = [self.old.shared_counts(), self.new.shared_counts()];
        let mut planner = self.planner.borrow_mut();
        self.summary.common = planner.common;
        match planner.failed.take().filter(|_| more) {
            Some(error) => Err(error),
            None => Ok(self.summary.clone()),
        }
    }

    fn tell(&mut self, difference: &Difference, found: Reporter<'_>) -> Result<bool, Error> {
        self.summary.differences += 1;
        found(difference).map_err(|cause| Error::Output {
            path: PathBuf::from("standard output"),
            action: "cannot write",
            cause,
        })
    }

    fn contents(&mut self, pair: &Pair, found: Reporter<'_>) -> Result<bool, Error> {
        let (Some(old), Some(new)) = (&pair.old, &pair.new) else { return Ok(true) };
        self.old.begin(&pair.path, old)?;
        self.new.begin(&pair.path, new)?;
        self.summary.compared_bytes += old.size;
        let Some(at) = self.first_difference(&pair.path, old.size)? else { return Ok(true) };
        if let Some(extraction) = &mut self.extraction {
            extraction.put(&pair.path, Some(old), Some(new))?;
        }
        self.tell(&Difference { path: pair.path.clone(), what: What::Content(at) }, found)
    }

    /// Returns the first byte that differs between two contents of `size` bytes. Both contents are read to their ends.
    fn first_difference(&mut self, path: &[u8], size: u64) -> Result<Option<u64>, Error> {
        let mut at = 0;
        while at < size {
            self.old.fill(path)?;
            self.new.fill(path)?;
            let (same, length) = compare(&self.old.piece(), &self.new.piece());
            self.old.consume(length);
            self.new.consume(length);
            if same < length {
                self.old.skip(path, size - at - length)?;
                self.new.skip(path, size - at - length)?;
                return Ok(Some(at + same));
            }
            at += length;
        }
        Ok(None)
    }
}

/// Returns the number of equal bytes at the start, and the length that both pieces have.
fn compare(old: &StreamPiece<'_>, new: &StreamPiece<'_>) -> (u64, u64) {
    let length = old.length().min(new.length());
    let same = match (old, new) {
        (StreamPiece::Hole(_), StreamPiece::Hole(_)) => length,
        (StreamPiece::Bytes(bytes), StreamPiece::Hole(_)) | (StreamPiece::Hole(_), StreamPiece::Bytes(bytes)) => {
            let bytes = &bytes[..length as usize];
            if is_zero(bytes) {
                return (length, length);
            }
            bytes.iter().position(|byte| *byte != 0).map_or(length, |at| at as u64)
        }
        (StreamPiece::Bytes(old), StreamPiece::Bytes(new)) => {
            let old = &old[..length as usize];
            let new = &new[..length as usize];
            if old == new {
                return (length, length);
            }
            old.iter().zip(new).position(|(old, new)| old != new).map_or(length, |at| at as u64)
        }
    };
    (same, length)
}

/// Returns the shares: each side gets half of the workers, and half of the memory that the planner leaves.
fn shares(resources: &Resources) -> [Resources; 2] {
    let mut shares = [resources.clone(), resources.clone()];
    // Both sides count the base memory of the process, which is used once.
    let memory = resources.memory.map(|limit| (limit + BASE).saturating_sub(planning(limit)) / 2);
    shares[0].workers = resources.workers.div_ceil(2);
    shares[1].workers = resources.workers / 2;
    shares.map(|share| share.memory_limit(memory))
}

/// Returns the memory in bytes of the planner for a total limit.
fn planning(limit: u64) -> u64 {
    QUEUE + 2 * links_share(limit)
}

/// Resources for reading one side.
struct Share {
    settings: ReadSettings,
    /// Whether a first pass records the uses of shared units, because the units do not all fit.
    surveyed: bool,
}

impl Share {
    fn new(side: &Side, resources: &Resources, limit: Option<u64>) -> Result<Option<Share>, Error> {
        let Some(opened) = side.image() else { return Ok(None) };
        let facts = opened.volume.facts();
        let settings = |noted| read_settings(&opened.volume, resources, DIFF_METADATA as u64 + noted);
        let plain = settings(0).map_err(|error| for_both(error, limit))?;
        let all = facts.shared_units.saturating_mul(facts.largest_unit.into());
        if all <= plain.shared as u64 {
            return Ok(Some(Share { settings: plain, surveyed: false }));
        }
        // The image's size bounds the stated number of inodes, so that a wrong number does not disable caching.
        let noted = facts.inodes.min(facts.bytes) * USE;
        Ok(Some(match settings(noted) {
            Ok(settings) => Share { settings, surveyed: true },
            Err(_) => Share { settings: plain, surveyed: false },
        }))
    }
}

/// Records the uses of shared units for the sides that need them.
fn uses(old: &Side, new: &Side, request: &DiffRequest, shares: [&Option<Share>; 2]) -> Result<[SharedUses; 2], Error> {
    let wanted = shares.map(|share| share.as_ref().is_some_and(|share| share.surveyed));
    if !request.compared.contents || !wanted.contains(&true) {
        return Ok(Default::default());
    }
    Planner::survey(old, new, request, wanted)
}

/// Converts a memory need of one side to the need of both.
fn for_both(error: Error, limit: Option<u64>) -> Error {
    match (error, limit) {
        (Error::Memory(MemoryFault { needed, what, .. }), Some(allowed)) => {
            let fixed = (2 * needed).saturating_sub(BASE) + QUEUE;
            // The share of the links is proportional to the limit.
            let needed = fixed.saturating_mul(LINKS_PART).div_ceil(LINKS_PART - 2);
            Error::Memory(MemoryFault { allowed, needed, what: format!("{what}, of each side") })
        }
        (error, _) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_compared_as_far_as_both_go() {
        let bytes = StreamPiece::Bytes(b"ab\0\0");
        let hole = StreamPiece::Hole(9);
        assert_eq!(compare(&bytes, &StreamPiece::Bytes(b"ab")), (2, 2));
        assert_eq!(compare(&bytes, &StreamPiece::Bytes(b"ax\0\0\0")), (1, 4));
        assert_eq!(compare(&bytes, &hole), (0, 4));
        assert_eq!(compare(&StreamPiece::Bytes(b"\0\0\0"), &hole), (3, 3));
        assert_eq!(compare(&hole, &StreamPiece::Bytes(b"\0x")), (1, 2));
        assert_eq!(compare(&hole, &StreamPiece::Hole(5)), (5, 5));
    }

    #[test]
    fn workers_are_shared_out() {
        let shared = |workers| shares(&Resources::new(workers)).map(|share| share.workers);
        assert_eq!([shared(0), shared(1), shared(2), shared(5)], [[0, 0], [1, 0], [1, 1], [3, 2]]);
    }
}
