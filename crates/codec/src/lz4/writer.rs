//! Writes the sequences of a block (lz4 `doc/lz4_Block_format.md`): a token, literals, and the distance of a match.

/// Most literals of a sequence whose number fits into its token.
pub(super) const SHORT_RUN: usize = 14;
/// Longest match whose length fits into its token.
pub(super) const SHORT_MATCH: usize = 14 + SHORTEST_MATCH;
/// A longer run or match takes a byte more, and one more for each further number of this many bytes.
pub(super) const STEP: usize = 255;
/// Shortest match, bytes.
pub(super) const SHORTEST_MATCH: usize = 4;

/// Bytes at the end of a block in which no match may start.
pub(super) const LAST_START: usize = 12;
/// Bytes at the end of a block that are literals.
pub(super) const LAST_LITERALS: usize = 5;

/// A half of a token that says that the length continues after it.
const LONG: usize = 15;

/// Bytes after the token of a number of literals, or of the part of a match's length that is above the shortest one.
pub(super) fn more_bytes(length: usize) -> usize {
    length.checked_sub(LONG).map_or(0, |more| more / STEP + 1)
}

/// Writes to a buffer of fixed size.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Writer<'a> {
        Writer { out, at: 0 }
    }

    /// Bytes that are written.
    pub(super) fn size(&self) -> usize {
        self.at
    }

    /// Writes literals, and the match after them. `None` if they do not fit.
    pub(super) fn sequence(&mut self, literals: &[u8], length: usize, distance: usize) -> Option<()> {
        let more = length - SHORTEST_MATCH;
        self.literals(literals, more.min(LONG))?;
        self.put(&(distance as u16).to_le_bytes())?;
        self.rest(more)
    }

    /// Writes the last literals. Returns the total number of bytes written.
    pub(super) fn finish(mut self, literals: &[u8]) -> Option<usize> {
        self.literals(literals, 0)?;
        Some(self.at)
    }

    /// Writes a token and literals.
    #[inline]
    fn literals(&mut self, bytes: &[u8], low: usize) -> Option<()> {
        self.put(&[(bytes.len().min(LONG) << 4 | low) as u8])?;
        self.rest(bytes.len())?;
        self.put(bytes)
    }

    /// Writes the part of a length that does not fit into the token.
    #[inline]
    fn rest(&mut self, length: usize) -> Option<()> {
        let Some(mut left) = length.checked_sub(LONG) else { return Some(()) };
        while left >= STEP {
            self.put(&[STEP as u8])?;
            left -= STEP;
        }
        self.put(&[left as u8])
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}
