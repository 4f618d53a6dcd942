//! The content of the current file: stored bytes, holes, and padding.

use super::header::BLOCK;
use super::sparse::Segment;

/// Walks a file from start to end over its stored segments.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    size: u64,
    position: u64,
    current: Option<Segment>,
    map: std::vec::IntoIter<Segment>,
    /// Stored bytes not yet consumed, and the padding behind them.
    stored: u64,
    padding: u64,
}

/// The next part of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// This number of bytes in the tar.
    Stored(u64),
    /// This number of zeros.
    Hole(u64),
    End,
}

impl Content {
    /// A file without holes.
    pub fn plain(size: u64) -> Self {
        let whole = (size > 0).then_some(Segment { offset: 0, length: size });
        Self { size, current: whole, stored: size, padding: padding(size), ..Self::default() }
    }

    /// A file with holes. The segments ascend, end within `size` and hold the stored bytes; `area` is the stored size in the header, which
    /// may include the map at the start of the content: the padding depends on it.
    pub fn sparse(size: u64, segments: Vec<Segment>, area: u64) -> Self {
        let stored = segments.iter().map(|segment| segment.length).sum();
        let mut map = segments.into_iter();
        let current = map.next();
        Self { size, position: 0, current, map, stored, padding: padding(area) }
    }

    /// Its size if it has no holes and is unread.
    pub fn plain_size(&self) -> Option<u64> {
        let whole = self.map.len() == 0 && self.stored == self.size && self.padding == padding(self.size);
        (whole && self.position == 0).then_some(self.size)
    }

    /// Heap memory, bytes.
    pub fn memory(&self) -> u64 {
        (self.map.len() * size_of::<Segment>()) as u64
    }

    /// The next part at the current position.
    pub fn next(&mut self) -> Piece {
        while let Some(segment) = self.current {
            let end = segment.offset + segment.length;
            if self.position < segment.offset {
                return Piece::Hole(segment.offset - self.position);
            }
            if self.position < end {
                return Piece::Stored(end - self.position);
            }
            self.current = self.map.next();
        }
        if self.position < self.size { Piece::Hole(self.size - self.position) } else { Piece::End }
    }

    /// Advances over a hole.
    pub fn skip_hole(&mut self, bytes: u64) {
        self.position += bytes;
    }

    /// Advances over stored bytes.
    pub fn take(&mut self, bytes: u64) {
        self.position += bytes;
        self.stored -= bytes;
    }

    /// Bytes of the tar up to the next header: stored ones and padding. Ends the content.
    pub fn abandon(&mut self) -> (u64, u64) {
        let rest = (self.stored, self.padding);
        *self = Self::default();
        rest
    }

    /// Stored bytes not yet consumed.
    pub fn stored(&self) -> u64 {
        self.stored
    }
}

/// Bytes from the end of `size` bytes to the end of their last block.
pub(super) fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(mut content: Content) -> Vec<Piece> {
        let mut pieces = Vec::new();
        loop {
            let piece = content.next();
            match piece {
                Piece::Hole(bytes) => content.skip_hole(bytes),
                Piece::Stored(bytes) => content.take(bytes),
                Piece::End => return pieces,
            }
            pieces.push(piece);
        }
    }

    #[test]
    fn pieces_add_up() {
        assert_eq!(walk(Content::plain(0)), []);
        assert_eq!(walk(Content::plain(7)), [Piece::Stored(7)]);
        let segment = |offset, length| Segment { offset, length };
        let map = vec![segment(2, 3), segment(9, 0), segment(9, 1)];
        let expected = [Piece::Hole(2), Piece::Stored(3), Piece::Hole(4), Piece::Stored(1), Piece::Hole(10)];
        assert_eq!(walk(Content::sparse(20, map, 4)), expected);
        assert_eq!(walk(Content::sparse(9, vec![], 0)), [Piece::Hole(9)]);
    }

    #[test]
    fn abandoned_content_leaves_a_block_boundary() {
        assert_eq!(Content::plain(513).abandon(), (513, 511));
        assert_eq!(Content::plain(512).abandon(), (512, 0));
        let mut content = Content::sparse(100, vec![Segment { offset: 0, length: 10 }], 522);
        content.take(4);
        assert_eq!(content.abandon(), (6, 502));
        assert_eq!(content.abandon(), (0, 0));
    }
}
