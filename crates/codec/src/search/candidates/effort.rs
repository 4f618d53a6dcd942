//! How long to search.

/// Limits of the search. Lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Hash bits of the tables.
    pub(crate) bits: u32,
    /// A key of this many bytes is looked up where the match continued from the previous position is shorter than the limit.
    pub(crate) four: u32,
    pub(crate) six: u32,
    pub(crate) twelve: u32,
    /// A match of at least this length is used without comparing others.
    pub(crate) nice: usize,
}
