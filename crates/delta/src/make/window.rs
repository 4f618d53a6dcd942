//! The window of a search: the plain form of OLD, and then the plain form of NEW.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use packline_longrange::Window;
use packline_runtime::Input;

/// A range of the plain form of OLD, and then a range of the plain form of NEW.
pub(super) struct OldThenNew {
    pub(super) old: Arc<dyn Input>,
    pub(super) new: Arc<dyn Input>,
    pub(super) old_range: Range<u64>,
    pub(super) new_range: Range<u64>,
}

impl OldThenNew {
    fn old_length(&self) -> u64 {
        self.old_range.end - self.old_range.start
    }
}

impl Window for OldThenNew {
    fn length(&self) -> u64 {
        self.old_length() + (self.new_range.end - self.new_range.start)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let in_old = self.old_length().saturating_sub(at).min(into.len() as u64) as usize;
        let (first, rest) = into.split_at_mut(in_old);
        if !first.is_empty() {
            self.old.read_at(self.old_range.start + at, first)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        self.new.read_at(self.new_range.start + (at + in_old as u64 - self.old_length()), rest)
    }
}

/// Returns the ranges of OLD and NEW for a search, with at most `most` bytes together. If both files do not fit, NEW is searched in slices of
/// a quarter of `most`. Each slice has as much of OLD as fits, around the position that is `expected` for the slice.
pub(super) fn slice(old: u64, new: u64, at: u64, expected: u64, most: u64) -> (Range<u64>, Range<u64>) {
    if old.saturating_add(new) <= most {
        return (0..old, 0..new);
    }
    let new_end = new.min(at + most / 4);
    let space = most - (new_end - at);
    let start = expected.saturating_sub(space / 2).min(old.saturating_sub(space));
    (start..old.min(start + space), at..new_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_is_old_followed_by_new() {
        let window = OldThenNew {
            old: Arc::new(b"0123456789".to_vec()),
            new: Arc::new(b"abcdefgh".to_vec()),
            old_range: 2..6,
            new_range: 3..8,
        };
        for start in 0..=9 {
            for end in start..=9 {
                let mut into = vec![0; end - start];
                window.read(start as u64, &mut into).unwrap();
                assert_eq!(into, b"2345defgh"[start..end]);
            }
        }
        assert_eq!(window.length(), 9);
    }

    #[test]
    fn slices_cover_new_and_contain_the_expected_position() {
        assert_eq!(slice(600, 400, 0, 0, 1000), (0..600, 0..400));
        for (old, new) in [(5000, 700), (700, 5000), (0, 5000), (5000, 5000)] {
            let mut at = 0;
            while at < new {
                let expected = at.min(old);
                let (old_range, new_range) = slice(old, new, at, expected, 1000);
                assert_eq!(new_range.start, at);
                assert!(old_range.end - old_range.start + new_range.end - at <= 1000 && old_range.end <= old);
                assert!(old_range.start <= expected && expected <= old_range.end);
                at = new_range.end;
            }
            assert_eq!(at, new);
        }
    }
}
