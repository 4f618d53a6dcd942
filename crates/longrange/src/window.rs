//! The input of a search: a sequence of bytes of known length, in memory or readable at offsets.

use std::io;

/// The bytes that are searched for repeats, all available before the search begins.
///
/// Reads must return the same bytes each time, on any thread. If not, the matches are unspecified, though never out of bounds. For a file
/// that other processes may write, compare its times at the end.
pub trait Window: Send + Sync {
    /// Length in bytes.
    fn length(&self) -> u64;

    /// Fills `into` with the bytes at offset `at`. All requested bytes are within the window.
    ///
    /// # Errors
    ///
    /// The medium fails, or the window is shorter than its stated length.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// All bytes of the window, if they are in memory. The search is then faster, with the same result.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
}

impl Window for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(at).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(into.len())?));
        let bytes = range.and_then(|range| self.get(range)).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(bytes);
        Ok(())
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl Window for Vec<u8> {
    fn length(&self) -> u64 {
        self.as_slice().length()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.as_slice().read(at, into)
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }
}
