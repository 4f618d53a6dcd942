//! The format of deltas, which `docs/format/delta.md` specifies. Each structure is encoded and decoded in one module.

pub(crate) mod group;
pub(crate) mod head;
pub(crate) mod numbers;
pub(crate) mod part;
pub(crate) mod recipe;

/// Upper bound for the literals of a group, in bytes.
pub(crate) const LITERALS_MOST: usize = 4 << 20;
/// Upper bound for the bytes of a group's reference.
pub(crate) const REFERENCE_MOST: usize = 8 << 20;
/// Upper bound for the entries of a group.
pub(crate) const ENTRIES_MOST: usize = 1 << 15;
/// The shortest copy in bytes. The compressor finds shorter repeats in the reference, where they cost less.
pub(crate) const COPY_LEAST: u64 = 1024;
/// Upper bound for the plain bytes of a part of numbers. The largest group has 1.2 MB, and the largest part of the recipe 1.3 MB.
pub(crate) const NUMBERS_MOST: usize = 2 << 20;
