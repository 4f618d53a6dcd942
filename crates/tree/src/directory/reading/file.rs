//! Reads a regular file piece by piece, skips its holes, and compares it with the listed file.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use rustix::fs::{Advice, FileType, SeekFrom};
use rustix::io::Errno;

use super::change::{Change, ChangeCheck};
use crate::Extent;
use crate::directory::fault::{Fault, Tried};
use crate::directory::found::{SMALL_BYTES, ScannedEntry};

/// An open file, and the position of reading.
pub(super) struct OpenFile {
    file: OwnedFd,
    check: ChangeCheck,
    at: u64,
    /// The offset at which the content ended, if that is before its size.
    ended: Option<u64>,
    /// The file was read to its end and compared.
    compared: bool,
    /// There is no hole before this offset. Used only if `sparse`.
    data_end: u64,
    sparse: bool,
}

impl OpenFile {
    /// A file that was opened for an entry. The entry gets the size of the file, and the file's attributes if another file has
    /// replaced the listed one.
    pub fn new(file: OwnedFd, found: &mut ScannedEntry) -> Result<Self, Fault> {
        let mut check = ChangeCheck::new(found);
        let stat = rustix::fs::fstat(&file).tried("cannot examine")?;
        if let Some(meta) = check.begin(&stat)? {
            found.entry.meta = meta;
        }
        found.set_size(check.size);
        let large = check.size > SMALL_BYTES;
        if large {
            // Only a hint, so errors are ignored.
            let _ = rustix::fs::fadvise(&file, 0, NonZeroU64::new(check.size), Advice::Sequential);
        }
        Ok(Self { file, check, at: 0, ended: None, compared: false, data_end: 0, sparse: large && found.sparse })
    }

    /// The next piece. At the end the file is examined again.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Fault> {
        if self.at == self.check.size {
            return self.compare().map(|()| Extent::End);
        }
        if self.sparse
            && self.at >= self.data_end
            && let Some(hole) = self.hole()?
        {
            self.at += hole;
            return Ok(Extent::Hole(hole));
        }
        match self.read_data(buffer)? {
            0 if !buffer.is_empty() => Ok(self.end()),
            count => Ok(Extent::Data(count)),
        }
    }

    /// After the end of a file that shrank, starts over and returns its current size.
    pub fn read_again(&mut self) -> Option<u64> {
        if !self.compared || !self.check.again() {
            return None;
        }
        self.at = 0;
        self.data_end = 0;
        self.ended = None;
        self.compared = false;
        Some(self.check.size)
    }

    /// Returns the difference from the listed file, after the file was read to its end.
    pub fn take_change(&mut self) -> Option<Change> {
        let compared = std::mem::take(&mut self.compared);
        self.check.change().filter(|_| compared)
    }

    fn compare(&mut self) -> Result<(), Fault> {
        if !self.compared {
            let stat = rustix::fs::fstat(&self.file).tried("cannot examine")?;
            self.check.end(&stat, self.ended)?;
            self.compared = true;
        }
        Ok(())
    }

    /// The file has no more bytes, so the rest are zeros.
    fn end(&mut self) -> Extent {
        let rest = self.check.size - self.at;
        self.ended = Some(self.at);
        self.at = self.check.size;
        Extent::Hole(rest)
    }

    fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let end = if self.sparse { self.data_end } else { self.check.size };
        let length = usize::try_from(end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = || rustix::io::pread(&self.file, &mut buffer[..length], self.at);
        let count = rustix::io::retry_on_intr(read).tried("cannot read").map_err(|fault| {
            let now = rustix::fs::fstat(&self.file);
            fault.unless_turned(FileType::RegularFile, now)
        })?;
        self.at += count as u64;
        Ok(count)
    }

    /// The length of the hole that starts here. If there is none, finds the start of the next hole.
    fn hole(&mut self) -> Result<Option<u64>, Fault> {
        let end = self.check.size;
        let data = match rustix::fs::seek(&self.file, SeekFrom::Data(self.at)) {
            Ok(data) => data.min(end),
            // No data follows. If the file has shrunk, the comparison at the end detects that.
            Err(Errno::NXIO) => end,
            Err(_) => return self.give_up_holes(),
        };
        if data > self.at {
            return Ok(Some(data - self.at));
        }
        match rustix::fs::seek(&self.file, SeekFrom::Hole(self.at)) {
            Ok(hole) if hole > self.at => self.data_end = hole.min(end),
            _ => return self.give_up_holes(),
        }
        Ok(None)
    }

    /// The file system does not report holes, so they are read as zeros.
    fn give_up_holes(&mut self) -> Result<Option<u64>, Fault> {
        self.sparse = false;
        Ok(None)
    }
}
