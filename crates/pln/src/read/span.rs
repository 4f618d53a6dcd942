//! A part of the content.

/// A range of the content; all of it by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// Number of bytes; `None` for all that follow.
    pub length: Option<u64>,
}

impl Span {
    /// The whole content.
    pub const ALL: Span = Span { start: 0, length: None };
}
