//! How an image is opened, and the search for one after other data.

use std::io;
use std::ops::Range;

use memchr::memmem;
use packline_runtime::Input;

/// Bytes that are searched at a time.
const SEARCH_BYTES: usize = 1 << 20;

/// Start of an image in its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The image begins at this byte.
    At(u64),
    /// The image begins at byte 0, or is the first image that is found. A program may contain a superblock as a constant, or a copy of one.
    Find,
}

/// How an image is opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    pub origin: Origin,
    /// Size in bytes of the cache of decompressed metadata; at least one metadata block is cached.
    pub metadata_cache: usize,
}

/// A search for the superblocks of one file system.
pub struct SuperblockSearch<'s> {
    /// The magic numbers, one of which a superblock begins with.
    pub magics: &'s [[u8; 4]],
    /// Bytes that the check needs, from the first byte of the superblock; at least as many as a magic number has.
    pub length: usize,
    /// Whether the bytes are a valid superblock, at this offset of the input.
    pub is_sound: &'s dyn Fn(&[u8], u64) -> bool,
}

impl SuperblockSearch<'_> {
    /// Returns the offset of the first valid superblock that starts within `range` of `input`, at any byte.
    ///
    /// # Errors
    /// Errors of reading `input`.
    pub fn find(&self, input: &dyn Input, range: Range<u64>) -> io::Result<Option<u64>> {
        let length = self.length as u64;
        let end = input.size().min(range.end.saturating_add(length - 1));
        let mut window = Vec::new();
        let mut at = range.start;
        while at.saturating_add(length) <= end {
            window.resize((end - at).min(SEARCH_BYTES as u64) as usize, 0);
            input.read_at(at, &mut window)?;
            if let Some(start) = self.find_in(&window, at) {
                return Ok(Some(at + start as u64));
            }
            // The next window contains all of a superblock across the window's end.
            at += window.len() as u64 - (length - 1);
        }
        Ok(None)
    }

    /// Returns the first valid superblock that is completely in a window of the input.
    fn find_in(&self, window: &[u8], at: u64) -> Option<usize> {
        let mut end = window.len();
        for magic in self.magics {
            let found = memmem::find_iter(&window[..end], magic).find(|&start| {
                let bytes = window.get(start..).and_then(|rest| rest.get(..self.length));
                bytes.is_some_and(|bytes| (self.is_sound)(bytes, at + start as u64))
            });
            // Only an earlier superblock counts for the other magic numbers.
            end = found.unwrap_or(end);
        }
        (end < window.len()).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_superblock_at_any_byte_of_the_range() {
        let magics = [*b"none", *b"mark"];
        let search = SuperblockSearch { magics: &magics, length: 96, is_sound: &|bytes, _| bytes[95] == b'!' };
        let superblock = [&b"mark"[..], &[0; 91], b"!"].concat();
        for before in [0, 1, 95, SEARCH_BYTES - 1, SEARCH_BYTES - 95, SEARCH_BYTES - 96, SEARCH_BYTES, 3 << 20] {
            // The magic number alone is not a superblock.
            let mut input = b"mark".repeat(before / 4 + 1);
            input.truncate(before);
            input.extend_from_slice(&superblock);
            let start = before as u64;
            let find = |input: &Vec<u8>, range| search.find(input, range).unwrap();
            assert_eq!(find(&input, 0..u64::MAX), Some(start), "{before}");
            assert_eq!(find(&input, start..start + 1), Some(start), "{before}");
            assert_eq!(find(&input, 0..start), None, "{before}");
            assert_eq!(find(&input, start + 1..u64::MAX), None, "{before}");
            input.pop();
            assert_eq!(find(&input, 0..u64::MAX), None, "{before}");
        }
    }
}
