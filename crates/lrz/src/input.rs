//! What can be read at an offset.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// Bytes that can be read at any offset, by several threads.
pub trait Input: Send + Sync {
    /// How many there are, bytes.
    fn length(&self) -> u64;
    /// Fills `into` with what stands at byte `at`.
    ///
    /// # Errors
    /// What the operating system says; [`io::ErrorKind::UnexpectedEof`] past the end.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Whether the bytes, or how many there are, may be others than at the beginning.
    ///
    /// # Errors
    /// What the operating system says.
    fn changed(&self) -> io::Result<bool> {
        Ok(false)
    }
}

impl Input for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(at).ok().filter(|&start| start <= self.len());
        let bytes = start.and_then(|start| self.get(start..start.checked_add(into.len())?));
        into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A file, with the length it had when it was opened.
#[derive(Debug)]
pub struct FileInput {
    file: File,
    length: u64,
    /// None if the system does not say.
    stamp: Option<Stamp>,
}

/// What becomes another when a file is written to: its size, and the times of its content and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &File) -> io::Result<Stamp> {
        let about = file.metadata()?;
        let (modified, changed) = ((about.mtime(), about.mtime_nsec()), (about.ctime(), about.ctime_nsec()));
        Ok(Stamp { size: about.size(), modified, changed })
    }
}

impl FileInput {
    /// An open file of `length` bytes.
    pub fn new(file: File, length: u64) -> FileInput {
        let stamp = Stamp::of(&file).ok();
        FileInput { file, length, stamp }
    }
}

impl Input for FileInput {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }

    fn changed(&self) -> io::Result<bool> {
        self.stamp.map_or(Ok(false), |stamp| Ok(Stamp::of(&self.file)? != stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_is_written_to_has_changed() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before").unwrap();
        let input = FileInput::new(file.try_clone().unwrap(), 6);
        assert!(!input.changed().unwrap());
        file.write_all(b"!").unwrap();
        assert!(input.changed().unwrap());
    }
}
