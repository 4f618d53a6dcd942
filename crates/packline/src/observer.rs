//! Who wants to know how a pack gets on.

use packline_tree::Entry;

/// How far a pack is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries begun.
    pub entries: u64,
    /// Bytes of the source consumed: of the tar as it is stored, or of the files.
    pub source_bytes: u64,
    /// Bytes of the source in all, where that is known.
    pub source_total: Option<u64>,
    /// Bytes of file content read, holes included.
    pub content_bytes: u64,
    /// Bytes of the image written.
    pub image_bytes: u64,
}

/// Watches a pack. Every call comes on the packing thread and should cost next to nothing.
pub trait Observer {
    /// An entry is about to be packed.
    fn entry(&mut self, _entry: &Entry, _progress: &Progress) {}
    /// Content was read: after every piece of at most a few hundred kilobytes, or a hole of any size.
    fn advance(&mut self, _progress: &Progress) {}
    /// The source has ended; tables are written and the image is synced.
    fn finishing(&mut self, _progress: &Progress) {}
    /// Something failed, and the rest goes on because that was asked for.
    fn problem(&mut self, _error: &crate::Error) {}
    /// Something was left out or changed that the user may want to know.
    fn warning(&mut self, _message: &str) {}
}

/// Looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
