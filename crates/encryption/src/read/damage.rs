//! Damage to the chunks of a file that is read beyond it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::opened::forged;
use crate::{Error, Part};

/// Maximum number of ranges that are kept.
const MAX_RANGES: usize = 1000;

/// All damage found in a file whose damaged chunks are read as zeros.
#[derive(Debug, Default)]
pub struct Damage {
    seen: AtomicBool,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    /// Up to [`MAX_RANGES`] ranges, and one that covers all later damage.
    ranges: Vec<ChunkRange>,
    others: Vec<Error>,
}

/// A range of damaged chunks.
#[derive(Debug)]
struct ChunkRange {
    first: u64,
    last: u64,
    /// How many chunks in the range are damaged.
    count: u64,
    /// Offset of the first chunk in the file.
    offset: u64,
}

impl Damage {
    /// Whether a chunk that was read is damaged.
    pub(super) fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    pub(super) fn see(&self) {
        self.seen.store(true, Ordering::Relaxed);
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a damaged chunk that begins at byte `offset`. Chunks must be noted in the order of the file.
    pub(super) fn note(&self, number: u64, offset: u64) {
        self.see();
        let ranges = &mut self.notes().ranges;
        let is_full = ranges.len() > MAX_RANGES;
        match ranges.last_mut().filter(|range| is_full || range.last + 1 == number) {
            Some(range) => {
                range.last = number;
                range.count += 1;
            }
            None => ranges.push(ChunkRange { first: number, last: number, count: 1, offset }),
        }
    }

    /// Notes damage of another kind, after which nothing is read.
    pub(super) fn note_other(&self, error: Error) {
        self.see();
        self.notes().others.push(error);
    }

    /// Returns all noted damage in the order of the file. Neighbouring chunks are one range, and ranges after the first 1,000 are one
    /// range.
    pub fn take(&self) -> Vec<Error> {
        let Notes { ranges, others } = std::mem::take(&mut *self.notes());
        ranges.iter().map(ChunkRange::error).chain(others).collect()
    }
}

impl ChunkRange {
    fn error(&self) -> Error {
        let ChunkRange { first, last, count, offset } = *self;
        if first == last {
            return forged(first, offset);
        }
        let which = if count == last - first + 1 {
            "they do not open".to_string()
        } else {
            format!("{count} of them do not open")
        };
        let what = format!("{which}: damaged, moved, or from another file");
        Error::corrupt(Part::Chunks(first, last), offset, what, "the unchanged chunks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_neighbours_and_bounds_the_list() {
        let damage = Damage::default();
        for number in [3, 4, 5, 9] {
            damage.note(number, number * 100);
        }
        let texts = |damage: &Damage| damage.take().iter().map(ToString::to_string).collect::<Vec<_>>();
        let found = texts(&damage);
        assert!(found[0].starts_with("encrypted chunks 3 to 5, at byte 300: they do not open"), "{found:?}");
        assert!(found.len() == 2 && found[1].starts_with("encrypted chunk 9, at byte 900: it does not open"));
        (0..5000).for_each(|number| damage.note(number * 2, 0));
        let found = texts(&damage);
        assert_eq!(found.len(), MAX_RANGES + 1);
        assert!(
            found[MAX_RANGES].starts_with("encrypted chunks 2000 to 9998, at byte 0: 4000 of them do not open"),
            "{found:?}"
        );
    }
}
