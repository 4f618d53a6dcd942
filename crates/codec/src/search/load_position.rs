//! A position of a block whose bytes are loaded without bounds checks.

use crate::bytes::{bounded_match_length, eight};

/// Minimum number of bytes from a [`LoadPosition`] to the end of the block.
pub(crate) const LOADABLE: usize = 16;

/// A position of a block that at least [`LOADABLE`] bytes follow.
#[derive(Clone, Copy)]
pub(crate) struct LoadPosition<'a> {
    src: &'a [u8],
    at: usize,
}

impl<'a> LoadPosition<'a> {
    /// `None` if too few bytes follow.
    #[inline(always)]
    pub(crate) fn new(src: &'a [u8], at: usize) -> Option<Self> {
        (at.checked_add(LOADABLE)? <= src.len()).then_some(LoadPosition { src, at })
    }

    #[inline(always)]
    pub(crate) fn at(self) -> usize {
        self.at
    }

    /// The eight bytes at the position.
    #[inline(always)]
    pub(crate) fn first_eight(self) -> u64 {
        // SAFETY: `new` checked that `LOADABLE` bytes follow.
        unsafe { self.word(self.at) }
    }

    /// The eight bytes after the first eight.
    #[inline(always)]
    pub(crate) fn second_eight(self) -> u64 {
        // SAFETY: `new` checked that `LOADABLE` bytes follow.
        unsafe { self.word(self.at + 8) }
    }

    /// The eight bytes at this distance back.
    ///
    /// # Safety
    ///
    /// The bytes must not start before the block.
    #[inline(always)]
    pub(crate) unsafe fn eight_back(self, distance: usize) -> u64 {
        // SAFETY: by the caller's contract the bytes are in the block, and not after the position itself.
        unsafe { self.word(self.at - distance) }
    }

    /// The eight bytes at this distance back, or at the start of the block if the distance is too large.
    #[inline(always)]
    pub(crate) fn eight_back_or_first(self, distance: usize) -> u64 {
        // SAFETY: the bytes are in the block, and not after the position itself.
        unsafe { self.word(self.at - distance.min(self.at)) }
    }

    /// Whether the eight bytes that end `end` bytes after the position exist and are equal to those at this distance back. `end` is 8 or more.
    #[inline(always)]
    pub(crate) fn is_equal_until(self, distance: usize, end: usize) -> bool {
        let at = self.at + end - 8;
        at + 8 <= self.src.len() && eight(self.src, at) == eight(self.src, at - distance)
    }

    /// Number of bytes that are equal to those at this distance back, at most `most`. The first `known` are known to be equal.
    #[inline(always)]
    pub(crate) fn match_length(self, distance: usize, known: usize, most: usize) -> usize {
        let at = self.at + known;
        known + bounded_match_length(self.src, at - distance, at, most - known)
    }

    /// Eight bytes of the block.
    ///
    /// # Safety
    ///
    /// `from + 8` must not be more than the length of the block.
    #[inline(always)]
    unsafe fn word(self, from: usize) -> u64 {
        debug_assert!(from + 8 <= self.src.len());
        // SAFETY: by the caller's contract the eight bytes are in the block.
        u64::from_le_bytes(unsafe { self.src.as_ptr().add(from).cast::<[u8; 8]>().read() })
    }
}
