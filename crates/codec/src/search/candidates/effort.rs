//! How long to search.

/// Limits of the search. Lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Hash bits of the tables.
    pub(crate) bits: u32,
    /// A key is looked up where the match continued from the previous position is shorter than this.
    pub(crate) four: u32,
    pub(crate) six: u32,
    pub(crate) twelve: u32,
    /// A match at least this long is taken as it is.
    pub(crate) nice: usize,
}
