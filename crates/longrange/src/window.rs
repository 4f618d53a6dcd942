//! The input of a search: a range of bytes of known length, in memory or readable at offsets.

use std::io;

/// The bytes that are searched for repeats, all available before the search begins.
///
/// Reading must give the same bytes each time, from any thread; otherwise the matches are undefined, though never out of bounds. For a file
/// that others may write, compare its times at the end.
pub trait Window: Send + Sync {
    /// The length of the window in bytes.
    fn length(&self) -> u64;

    /// Fills `into` with the bytes at offset `at`, all of them within the window.
    ///
    /// # Errors
    ///
    /// The medium fails, or the window is shorter than its length.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// The whole window, if it is in memory. The search is then faster, with the same result.
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
