//! The content of the current file: stored bytes, holes, padding, and its position, for reading the content again.

use std::ops::Range;

use super::header::BLOCK;
use super::sparse::Segment;
use packline_tree::Bookmark;

/// Walks through a file's stored segments from start to end.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    size: u64,
    position: u64,
    current: Option<Segment>,
    map: std::vec::IntoIter<Segment>,
    /// Stored bytes not yet consumed, and the padding after them.
    stored: u64,
    padding: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContentPart {
    /// A number of bytes in the tar.
    Stored(u64),
    /// A number of zeros.
    Hole(u64),
    End,
}

impl Content {
    /// A file without holes.
    pub fn plain(size: u64) -> Self {
        let whole = (size > 0).then_some(Segment { offset: 0, length: size });
        Self { size, current: whole, stored: size, padding: padding(size), ..Self::default() }
    }

    /// A file with holes. The segments ascend, end within `size` and contain the stored bytes. `area` is the stored size in the
    /// header, which may include the map at the start of the content and determines the padding.
    pub fn sparse(size: u64, segments: Vec<Segment>, area: u64) -> Self {
        let stored = segments.iter().map(|segment| segment.length).sum();
        let mut map = segments.into_iter();
        let current = map.next();
        Self { size, position: 0, current, map, stored, padding: padding(area) }
    }

    /// The size, if the content has no holes and has not been read.
    pub fn plain_size(&self) -> Option<u64> {
        let whole = self.map.len() == 0 && self.stored == self.size && self.padding == padding(self.size);
        (whole && self.position == 0).then_some(self.size)
    }

    /// See [`packline_tree::Source::data_ranges`].
    pub fn data_ranges(&self, most: usize) -> Option<Vec<Range<u64>>> {
        if self.plain_size().is_some() || self.map.len() >= most {
            return None;
        }
        let segments = self.current.iter().chain(self.map.as_slice());
        Some(segments.map(|segment| segment.offset..segment.offset + segment.length).collect())
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> u64 {
        (self.map.len() * size_of::<Segment>()) as u64
    }

    /// The next part at the current position.
    pub fn next(&mut self) -> ContentPart {
        while let Some(segment) = self.current {
            let end = segment.offset + segment.length;
            if self.position < segment.offset {
                return ContentPart::Hole(segment.offset - self.position);
            }
            if self.position < end {
                return ContentPart::Stored(end - self.position);
            }
            self.current = self.map.next();
        }
        if self.position < self.size { ContentPart::Hole(self.size - self.position) } else { ContentPart::End }
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

    /// Ends the content. Returns the bytes of the tar up to the next header: stored bytes and padding.
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

/// The position of an entry's content in a tar that can seek.
#[derive(Debug, Clone)]
pub struct TarBookmark {
    /// Offset of the entry's header in bytes.
    pub(super) header: u64,
    /// Offset of the content's first stored byte.
    pub(super) start: u64,
    content: Stored,
}

#[derive(Debug, Clone)]
enum Stored {
    /// A content without holes, and its size in bytes.
    Plain(u64),
    /// A content with a map.
    Sparse(Content),
}

impl TarBookmark {
    pub(super) fn new(header: u64, start: u64, content: &Content) -> TarBookmark {
        let content = match content.plain_size() {
            Some(size) => Stored::Plain(size),
            None => Stored::Sparse(content.clone()),
        };
        TarBookmark { header, start, content }
    }

    /// The content before the first read.
    pub(super) fn content(&self) -> Content {
        match &self.content {
            Stored::Plain(size) => Content::plain(*size),
            Stored::Sparse(content) => Content::clone(content),
        }
    }

    /// A content of `size` bytes without holes, of an entry whose header is at `header`.
    pub(crate) fn at(header: u64, start: u64, size: u64) -> TarBookmark {
        TarBookmark { header, start, content: Stored::Plain(size) }
    }

    pub(crate) fn header_offset(&self) -> u64 {
        self.header
    }

    /// Offset and size of the content in the tar in bytes, if it has no holes.
    pub fn plain(&self) -> Option<(u64, u64)> {
        if let Stored::Plain(size) = self.content { Some((self.start, size)) } else { None }
    }

    /// The bookmark that a source of this tar returns.
    pub(crate) fn into_bookmark(self) -> Bookmark {
        let memory = match &self.content {
            Stored::Plain(_) => 0,
            Stored::Sparse(content) => content.memory(),
        };
        Bookmark::opaque(self, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(mut content: Content) -> Vec<ContentPart> {
        let mut pieces = Vec::new();
        loop {
            let piece = content.next();
            match piece {
                ContentPart::Hole(bytes) => content.skip_hole(bytes),
                ContentPart::Stored(bytes) => content.take(bytes),
                ContentPart::End => return pieces,
            }
            pieces.push(piece);
        }
    }

    #[test]
    fn pieces_add_up() {
        assert_eq!(walk(Content::plain(0)), []);
        assert_eq!(walk(Content::plain(7)), [ContentPart::Stored(7)]);
        let segment = |offset, length| Segment { offset, length };
        let map = vec![segment(2, 3), segment(9, 0), segment(9, 1)];
        let expected = [
            ContentPart::Hole(2),
            ContentPart::Stored(3),
            ContentPart::Hole(4),
            ContentPart::Stored(1),
            ContentPart::Hole(10),
        ];
        assert_eq!(walk(Content::sparse(20, map, 4)), expected);
        assert_eq!(walk(Content::sparse(9, vec![], 0)), [ContentPart::Hole(9)]);
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
