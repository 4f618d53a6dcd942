//! Removes the least recently used entries.

use std::collections::BTreeMap;
use std::fs;

use crate::Error;
use crate::store::Store;

/// Uses within this many seconds count as simultaneous.
const STEP: i64 = 60;

/// The entries that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trimmed {
    pub entries: u64,
    pub bytes: u64,
}

/// Selects the entries to remove by the time of their last use.
struct Cut {
    /// Entries used before this time are removed.
    before: i64,
    /// Number of bytes to remove from the entries used at this time.
    bytes_at: u64,
}

impl Store {
    /// If there are more than `limit` bytes, removes the least recently used entries until nine tenths of the limit are left.
    /// Also removes leftovers of killed processes. Does nothing while another process removes entries.
    pub fn trim(&self, limit: u64) -> Result<Trimmed, Error> {
        let mut trimmed = Trimmed::default();
        let Some(_lock) = self.try_lock() else { return Ok(trimmed) };
        self.remove_unfinished()?;
        // Bytes by time, so that memory grows with the number of times, not of entries.
        let mut total = 0;
        let mut by_time = BTreeMap::<i64, u64>::new();
        self.visit(&mut |found| {
            total += found.bytes;
            *by_time.entry(found.used.div_euclid(STEP)).or_default() += found.bytes;
        })?;
        if total <= limit {
            return Ok(trimmed);
        }
        let mut cut = Cut::new(by_time, total - (limit - limit / 10));
        self.visit(&mut |found| {
            if cut.removes(found.used.div_euclid(STEP), found.bytes) && fs::remove_file(&found.path).is_ok() {
                trimmed.entries += 1;
                trimmed.bytes += found.bytes;
            }
        })?;
        Ok(trimmed)
    }

    /// Removes all entries.
    ///
    /// # Errors
    /// [`Error::Io`] for a directory that cannot be read, and for the first entry that cannot be removed.
    pub fn clear(&self) -> Result<Trimmed, Error> {
        let mut trimmed = Trimmed::default();
        let mut first = None;
        self.visit(&mut |found| match fs::remove_file(&found.path) {
            Ok(()) => {
                trimmed.entries += 1;
                trimmed.bytes += found.bytes;
            }
            Err(cause) => {
                first.get_or_insert_with(|| Error::io(&found.path, "cannot remove", cause));
            }
        })?;
        self.remove_unfinished()?;
        first.map_or(Ok(trimmed), Err)
    }
}

impl Cut {
    fn new(by_time: BTreeMap<i64, u64>, mut excess: u64) -> Cut {
        for (time, bytes) in by_time {
            if bytes >= excess {
                return Cut { before: time, bytes_at: excess };
            }
            excess -= bytes;
        }
        Cut { before: i64::MAX, bytes_at: 0 }
    }

    fn removes(&mut self, time: i64, bytes: u64) -> bool {
        let at = time == self.before && self.bytes_at > 0;
        self.bytes_at = self.bytes_at.saturating_sub(if at { bytes } else { 0 });
        at || time < self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_the_oldest_and_no_more_than_needed_of_one_time() {
        let removed = |excess| {
            let entries = [(3, 10), (1, 10), (2, 10), (2, 10), (1, 10)];
            let mut by_time = BTreeMap::new();
            entries.iter().for_each(|(time, bytes)| *by_time.entry(*time).or_default() += bytes);
            let mut cut = Cut::new(by_time, excess);
            entries
                .iter()
                .filter(|(time, bytes)| cut.removes(*time, *bytes))
                .map(|(time, _)| *time)
                .collect::<Vec<i64>>()
        };
        assert_eq!(removed(1), [1]);
        assert_eq!(removed(20), [1, 1]);
        assert_eq!(removed(21), [1, 2, 1]);
        assert_eq!(removed(40), [1, 2, 2, 1]);
        assert_eq!(removed(50), [3, 1, 2, 2, 1]);
    }
}
