//! The position of an entry's content, for reading it again.

use packline_tree::Bookmark;

use super::content::Content;

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
