//! Damage to the chunks of a file that is read on behind it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::opened::forged;
use crate::{Error, Part};

/// Most ranges that are kept.
const MOST: usize = 1000;

/// All damage that was found in a file whose damaged chunks are read as zeros.
#[derive(Debug, Default)]
pub struct Damage {
    seen: AtomicBool,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// Up to [`MOST`] and one, which has all that come after those.
    ranges: Vec<Chunks>,
    others: Vec<Error>,
}

/// Damaged chunks.
#[derive(Debug)]
struct Chunks {
    first: u64,
    last: u64,
    /// How many of them are damaged.
    count: u64,
    /// Byte of the file at which they begin.
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

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A damaged chunk that begins at byte `offset`. They are noted in the order of the file.
    pub(super) fn note(&self, number: u64, offset: u64) {
        self.see();
        let ranges = &mut self.found().ranges;
        let is_full = ranges.len() > MOST;
        match ranges.last_mut().filter(|range| is_full || range.last + 1 == number) {
            Some(range) => (range.last, range.count) = (number, range.count + 1),
            None => ranges.push(Chunks { first: number, last: number, count: 1, offset }),
        }
    }

    /// Damage of another kind, after which nothing is read.
    pub(super) fn note_other(&self, error: Error) {
        self.see();
        self.found().others.push(error);
    }

    /// All that was noted, in the order of the file: neighbouring chunks as one range, and the last of very many ranges as one.
    pub fn take(&self) -> Vec<Error> {
        let Found { ranges, others } = std::mem::take(&mut *self.found());
        ranges.iter().map(Chunks::error).chain(others).collect()
    }
}

impl Chunks {
    fn error(&self) -> Error {
        let Chunks { first, last, count, offset } = *self;
        if first == last {
            return forged(first, offset);
        }
        let which = if count == last - first + 1 {
            "they do not open".to_string()
        } else {
            format!("{count} of them do not open")
        };
        let what = format!("{which}: they are damaged or of another place or file");
        Error::corrupt(Part::Chunks(first, last), offset, what, "the chunks that were written here, unchanged")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range_and_the_list_is_bounded() {
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
        assert_eq!(found.len(), MOST + 1);
        assert!(
            found[MOST].starts_with("encrypted chunks 2000 to 9998, at byte 0: 4000 of them do not open"),
            "{found:?}"
        );
    }
}
