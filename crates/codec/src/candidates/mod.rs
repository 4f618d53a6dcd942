//! Candidates: what a block has earlier that is equal to the bytes at a position. For encoders that weigh all of them.
//!
//! Candidates are found by hashes of the first three, four, six and twelve bytes. Short prefixes occur so often that only a longer key finds
//! the long matches among them; where a shorter key finds nothing the longer ones are skipped. A match found at one position continues, a
//! byte shorter, at the next one, which is searched less the longer that match is.
//!
//! Work at a position is bounded: at most ten earlier positions are compared, for eight bytes each; a longer comparison is made only where it
//! can give a longer match than those before, and stops at [`LONGEST`] bytes. A match of [`Effort::nice`] bytes is taken as it is, and no
//! position inside it is searched.

mod effort;
mod finder;
mod found;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use effort::Effort;
pub(crate) use finder::Finder;
pub(crate) use found::{Candidate, Found, Matches};

/// Longest match, bytes.
pub(crate) const LONGEST: usize = (1 << 11) - 1;
/// Largest block, binary logarithm of bytes.
pub(crate) const LARGEST_LOG: u32 = 20;
