//! Candidates: earlier positions of a block whose bytes are equal to those at a position. They are for encoders that weigh all of them.
//!
//! [`Finder`] finds candidates by hashes of the first three, four, six and twelve bytes. Short prefixes occur so often that only a longer
//! key finds the long matches among them. If a shorter key finds nothing, the longer keys are skipped. The latest three positions with the
//! same key are compared. Sixteen more with the same twelve bytes are compared unless a longer match continues: in text that a program
//! wrote, most positions have many.
//!
//! A match found at one position continues, a byte shorter, at the next one. The longer that match is, the less the next position is
//! searched. Work at a position is bounded: at most twenty-six earlier positions are compared, for eight bytes each. A longer comparison is
//! made only where it can give a longer match than those before, and it stops at [`LONGEST`] bytes.
//!
//! [`ExactFinder`] finds the nearest match of each length, from the sorted suffixes of the complete block. It takes about three times as
//! long on text. Work at a position is bounded by the number of different lengths, about forty.
//!
//! A match of at least `nice` bytes is used without comparing others, and no position inside it is searched. In a match of at least
//! `covering` bytes only the first positions are searched.

mod exact;
mod finder;
#[allow(unsafe_code)] // calls a C library
mod intervals;
mod list;
mod search;
#[cfg(test)]
mod tests;

use exact::ExactFinder;
pub(crate) use exact::{Exact, Format};
pub(crate) use finder::Effort;
use finder::Finder;
pub(crate) use intervals::{Intervals, NEVER, ROOT, length, number};
pub(crate) use list::{Candidate, CandidateList, Matches};
pub(crate) use search::{Search, Searcher};

/// Longest match in bytes.
pub(crate) const LONGEST: usize = (1 << 11) - 1;
/// Largest block, binary logarithm of bytes.
pub(crate) const LARGEST_LOG: u32 = 20;
/// The name in errors.
const NAME: &str = "match finder";
/// Number of positions whose memory is loaded ahead.
const AHEAD: usize = 8;

/// Loads an element ahead of its use.
#[inline(always)]
pub(crate) fn prefetch<T>(list: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch accesses no memory that the program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(list.as_ptr().wrapping_add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, index);
}
