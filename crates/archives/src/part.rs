//! A part of a file, read independently of the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A part of a file, read from start to end or at any offset. Clones share only the file.
#[derive(Debug, Clone)]
pub struct Part {
    file: Arc<File>,
    start: u64,
    size: u64,
    at: u64,
}

impl Part {
    fn new(file: Arc<File>, start: u64, size: u64) -> Part {
        Part { file, start, size, at: 0 }
    }

    /// A part of this part.
    pub fn part(&self, start: u64, size: u64) -> Part {
        Part::new(Arc::clone(&self.file), self.start + start, size)
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The complete file.
    ///
    /// # Errors
    /// The size cannot be read.
    pub fn whole(file: File) -> io::Result<Part> {
        let size = file.metadata()?.len();
        Ok(Part::new(Arc::new(file), 0, size))
    }
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.size.saturating_sub(self.at);
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.file.read_at(&mut buffer[..wanted], self.start + self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Part {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_part_has_its_own_end() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, b"0123456789").unwrap();
        let whole = Part::whole(file).unwrap();
        let mut part = whole.part(2, 6).part(1, 3);
        let mut text = String::new();
        part.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), part.read(&mut [0]).unwrap()), ("345", 0));
        assert_eq!(part.seek(SeekFrom::End(-1)).unwrap(), 2);
        assert_eq!((part.read(&mut [0; 9]).unwrap(), whole.size()), (1, 10));
        assert!(part.seek(SeekFrom::Current(-4)).is_err());
    }
}
