//! A part of the content.

/// Which bytes of the content are wanted; all of them by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub start: u64,
    /// How many; `None` for all that follow.
    pub length: Option<u64>,
}

impl Span {
    /// All there are.
    pub const ALL: Span = Span { start: 0, length: None };
}
