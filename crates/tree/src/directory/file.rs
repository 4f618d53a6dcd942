//! A regular file that is read piece by piece, holes left out, and checked to be what was listed.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use rustix::fs::{Advice, FileType, SeekFrom};
use rustix::io::Errno;

use super::fault::{Fault, Tried};
use super::found::{Found, SMALL_BYTES};
use super::stat::{FileId, id, size};
use crate::Extent;

/// An open file and how far it has been read.
pub(super) struct OpenFile {
    file: OwnedFd,
    expected: Expected,
    at: u64,
    /// Up to where there is no hole; only where `sparse`.
    data_end: u64,
    sparse: bool,
}

/// The properties of a file when it was listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub size: u64,
    pub id: Option<FileId>,
}

impl Expected {
    pub fn of(found: &Found) -> Self {
        Self { size: found.size().unwrap_or(0), id: found.id }
    }

    /// Fails if the open file is another one, or has another size.
    pub fn check(&self, file: &OwnedFd) -> Result<(), Fault> {
        let stat = rustix::fs::fstat(file).tried("cannot examine")?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(Fault::Kind(FileType::RegularFile, kind));
        }
        if self.id.is_some_and(|before| before != id(&stat)) {
            return Err(Fault::Replaced);
        }
        if size(&stat) == self.size { Ok(()) } else { Err(Fault::Size(size(&stat), self.size)) }
    }

    /// The fault of reading the open file: that it is no regular file, if that is the cause.
    pub fn explain(&self, file: &OwnedFd, fault: Fault) -> Fault {
        fault.unless_turned(FileType::RegularFile, rustix::fs::fstat(file))
    }
}

impl OpenFile {
    pub fn new(file: OwnedFd, found: &Found) -> Self {
        let expected = Expected::of(found);
        let large = expected.size > SMALL_BYTES;
        if large {
            // Only a hint: its errors do not matter.
            let _ = rustix::fs::fadvise(&file, 0, NonZeroU64::new(expected.size), Advice::Sequential);
        }
        Self { file, expected, at: 0, data_end: 0, sparse: large && found.sparse }
    }

    /// The next piece. At the end the file is looked at once more.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Fault> {
        if self.at == self.expected.size {
            return self.expected.check(&self.file).map(|()| Extent::End);
        }
        if self.sparse
            && self.at >= self.data_end
            && let Some(hole) = self.hole()?
        {
            self.at += hole;
            return Ok(Extent::Hole(hole));
        }
        self.read_data(buffer).map(Extent::Data)
    }

    fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let end = if self.sparse { self.data_end } else { self.expected.size };
        let length = usize::try_from(end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = || rustix::io::pread(&self.file, &mut buffer[..length], self.at);
        let count = rustix::io::retry_on_intr(read).tried("cannot read");
        let count = count.map_err(|fault| self.expected.explain(&self.file, fault))?;
        if count == 0 && length > 0 {
            self.expected.check(&self.file)?;
            return Err(Fault::Size(self.at, self.expected.size));
        }
        self.at += count as u64;
        Ok(count)
    }

    /// The length of the hole that starts here; or, if none does, finds out where the next one starts.
    fn hole(&mut self) -> Result<Option<u64>, Fault> {
        let end = self.expected.size;
        let data = match rustix::fs::seek(&self.file, SeekFrom::Data(self.at)) {
            Ok(data) => data.min(end),
            // No data follows. If it is because the file has shrunk, the check at the end finds that.
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

    /// The file system does not report holes: they are read as zeros.
    fn give_up_holes(&mut self) -> Result<Option<u64>, Fault> {
        self.sparse = false;
        Ok(None)
    }
}
