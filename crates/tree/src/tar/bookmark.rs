//! Where the content of an entry is, for a reader that can come back to it.

use super::content::Content;

/// Where the content of an entry is in a tar that can seek.
#[derive(Debug, Clone)]
pub struct Bookmark {
    /// Offset of the entry's header, bytes.
    pub(super) header: u64,
    /// Offset of the content's first stored byte, bytes.
    pub(super) start: u64,
    content: Stored,
}

#[derive(Debug, Clone)]
enum Stored {
    /// Whole, so many bytes.
    Plain(u64),
    /// With a map: boxed, since few files have one.
    Sparse(Box<Content>),
}

impl Bookmark {
    pub(super) fn new(header: u64, start: u64, content: &Content) -> Bookmark {
        let content = match content.plain_size() {
            Some(size) => Stored::Plain(size),
            None => Stored::Sparse(Box::new(content.clone())),
        };
        Bookmark { header, start, content }
    }

    /// The content, nothing of it read.
    pub(super) fn content(&self) -> Content {
        match &self.content {
            Stored::Plain(size) => Content::plain(*size),
            Stored::Sparse(content) => Content::clone(content),
        }
    }

    /// Bytes of memory that it takes besides itself.
    pub fn memory(&self) -> u64 {
        match &self.content {
            Stored::Plain(_) => 0,
            Stored::Sparse(content) => content.memory(),
        }
    }
}
