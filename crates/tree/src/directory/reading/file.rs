//! A regular file that is read piece by piece, holes left out, and compared with what was listed.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use rustix::fs::{Advice, FileType, SeekFrom};
use rustix::io::Errno;

use super::change::{Change, Watch};
use crate::Extent;
use crate::directory::fault::{Fault, Tried};
use crate::directory::found::{SMALL_BYTES, ScannedEntry};

/// An open file and how far it has been read.
pub(super) struct OpenFile {
    file: OwnedFd,
    watch: Watch,
    at: u64,
    /// Where the content ended, if that was before its size.
    ended: Option<u64>,
    /// It was read to its end, and compared.
    compared: bool,
    /// Up to where there is no hole; only where `sparse`.
    data_end: u64,
    sparse: bool,
}

impl OpenFile {
    /// A file that was opened for an entry, whose size becomes that of the file, and its attributes if another one took its place.
    pub fn new(file: OwnedFd, found: &mut ScannedEntry) -> Result<Self, Fault> {
        let mut watch = Watch::new(found);
        let stat = rustix::fs::fstat(&file).tried("cannot examine")?;
        if let Some(meta) = watch.begin(&stat)? {
            found.entry.meta = meta;
        }
        found.set_size(watch.size);
        let large = watch.size > SMALL_BYTES;
        if large {
            // Only a hint: its errors do not matter.
            let _ = rustix::fs::fadvise(&file, 0, NonZeroU64::new(watch.size), Advice::Sequential);
        }
        Ok(Self { file, watch, at: 0, ended: None, compared: false, data_end: 0, sparse: large && found.sparse })
    }

    /// The next piece. At the end the file is looked at once more.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Fault> {
        if self.at == self.watch.size {
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

    /// After the end of a file that got shorter: starts over, and returns its size now.
    pub fn read_again(&mut self) -> Option<u64> {
        if !self.compared || !self.watch.again() {
            return None;
        }
        self.at = 0;
        self.data_end = 0;
        self.ended = None;
        self.compared = false;
        Some(self.watch.size)
    }

    /// Takes the difference to what was listed, of a file that was read to its end.
    pub fn take_change(&mut self) -> Option<Change> {
        let compared = std::mem::take(&mut self.compared);
        self.watch.change().filter(|_| compared)
    }

    fn compare(&mut self) -> Result<(), Fault> {
        if !self.compared {
            let stat = rustix::fs::fstat(&self.file).tried("cannot examine")?;
            self.watch.end(&stat, self.ended)?;
            self.compared = true;
        }
        Ok(())
    }

    /// The file has no more bytes: the rest are zeros.
    fn end(&mut self) -> Extent {
        let rest = self.watch.size - self.at;
        self.ended = Some(self.at);
        self.at = self.watch.size;
        Extent::Hole(rest)
    }

    fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let end = if self.sparse { self.data_end } else { self.watch.size };
        let length = usize::try_from(end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = || rustix::io::pread(&self.file, &mut buffer[..length], self.at);
        let count = rustix::io::retry_on_intr(read).tried("cannot read").map_err(|fault| {
            let now = rustix::fs::fstat(&self.file);
            fault.unless_turned(FileType::RegularFile, now)
        })?;
        self.at += count as u64;
        Ok(count)
    }

    /// The length of the hole that starts here; or, if none does, finds out where the next one starts.
    fn hole(&mut self) -> Result<Option<u64>, Fault> {
        let end = self.watch.size;
        let data = match rustix::fs::seek(&self.file, SeekFrom::Data(self.at)) {
            Ok(data) => data.min(end),
            // No data follows. If it is because the file has shrunk, the comparison at the end finds that.
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
