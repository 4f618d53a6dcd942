//! The format of deltas, which `docs/format/delta.md` describes: each structure is encoded and decoded in one module.

pub(crate) mod group;
pub(crate) mod head;
pub(crate) mod numbers;
pub(crate) mod part;
pub(crate) mod recipe;

/// Most literals of a group, bytes.
pub(crate) const LITERALS_MOST: usize = 4 << 20;
/// Most bytes of a group's reference.
pub(crate) const REFERENCE_MOST: usize = 8 << 20;
/// Most entries of a group.
pub(crate) const ENTRIES_MOST: usize = 1 << 15;
/// Shortest copy, bytes. Shorter repeats are found again in the reference, where they cost less.
pub(crate) const COPY_LEAST: u64 = 1024;
/// Most plain bytes of a part of numbers: the largest group has 1.2 MB of them, and the largest part of the recipe 1.3 MB.
pub(crate) const NUMBERS_MOST: usize = 2 << 20;
