//! The sources of the bytes of NEW.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::Permit;

use crate::format::group::{Entry, Group};

/// A part of the plain form of NEW, or of NEW itself.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Bytes of the plain form of OLD.
    Plain(Range<u64>),
    /// Bytes of OLD, as they are stored.
    Stored(Range<u64>),
    /// Literals of a group.
    Literals(Arc<DecodedGroup>, Range<usize>),
}

/// A group with its decompressed literals.
#[derive(Debug)]
pub(super) struct DecodedGroup {
    pub(super) group: Group,
    pub(super) literals: Vec<u8>,
    pub(super) _permit: Permit,
}

/// A position in a group.
#[derive(Debug)]
pub(super) struct Cursor {
    group: Arc<DecodedGroup>,
    /// The index of the current entry.
    entry: usize,
    /// The bytes of the current entry that are used, literals first.
    used: u64,
    /// The number of literals in the entries before the current one.
    literals: usize,
}

impl Cursor {
    pub(super) fn new(group: DecodedGroup) -> Cursor {
        Cursor { group: Arc::new(group), entry: 0, used: 0, literals: 0 }
    }

    /// Returns at most `most` next bytes from one source; `None` if all bytes are used.
    pub(super) fn next(&mut self, most: u64) -> Option<(Source, u64)> {
        loop {
            let entry = *self.group.group.entries.get(self.entry)?;
            if self.used < u64::from(entry.literals) + entry.copy {
                return Some(self.take(&entry, most));
            }
            self.literals += entry.literals as usize;
            self.entry += 1;
            self.used = 0;
        }
    }

    fn take(&mut self, entry: &Entry, most: u64) -> (Source, u64) {
        let literals = u64::from(entry.literals);
        let (source, length) = match self.used.checked_sub(literals) {
            None => {
                let length = (literals - self.used).min(most);
                let start = self.literals + self.used as usize;
                (Source::Literals(Arc::clone(&self.group), start..start + length as usize), length)
            }
            Some(copied) => {
                let length = (entry.copy - copied).min(most);
                (Source::Plain(entry.source + copied..entry.source + copied + length), length)
            }
        };
        self.used += length;
        (source, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_bytes_in_the_order_of_the_entries() {
        let entry = |literals, copy, source| Entry { literals, copy, source };
        let entries = vec![entry(3, 5, 100), entry(0, 2, 7), entry(1, 0, 0), entry(2, 1, 50)];
        let group = Group { entries, ..Group::default() };
        let literals = b"abcdef".to_vec();
        let mut cursor = Cursor::new(DecodedGroup { group, literals, _permit: Permit::detached(0) });
        let mut made = String::new();
        while let Some((source, length)) = cursor.next(2) {
            match source {
                Source::Literals(group, range) => {
                    assert_eq!(range.len() as u64, length);
                    made.push_str(&String::from_utf8_lossy(&group.literals[range]));
                }
                Source::Plain(range) => {
                    assert_eq!(range.end - range.start, length);
                    made.push_str(&format!("[{range:?}]"));
                }
                Source::Stored(_) => unreachable!(),
            }
        }
        assert_eq!(made, "abc[100..102][102..104][104..105][7..9]def[50..51]");
    }
}
