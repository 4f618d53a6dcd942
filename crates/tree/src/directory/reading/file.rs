//! Reads a regular file piece by piece, skips its holes, and compares it with the listed file.

use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Advice, FileType, SeekFrom};
use rustix::io::Errno;

use super::change::{Change, ChangeCheck};
use crate::directory::fault::{Fault, Tried};
use crate::directory::found::{SMALL_BYTES, ScannedEntry};
use crate::{ContentEnd, Entry, Error, Extent, SharedContent, Source, UnreadPart};

/// An open file, and the position of reading.
pub(super) struct OpenFile {
    file: Arc<OwnedFd>,
    check: ChangeCheck,
    at: u64,
    /// The offset at which the content ended, if that is before its size.
    ended: Option<u64>,
    /// The file was read to its end and compared.
    compared: bool,
    /// There is no hole before this offset. Used only if `sparse`.
    data_end: u64,
    sparse: bool,
    /// The same file, if parts of it are read later. It is compared when all of them have been read.
    shared: Option<Arc<SharedFile>>,
}

/// A file that workers read.
#[derive(Debug)]
pub(super) struct SharedFile {
    file: Arc<OwnedFd>,
    path: PathBuf,
    check: ChangeCheck,
    sparse: bool,
    /// The lowest offset at which the content ended before its size; `u64::MAX` if it did not.
    ended: AtomicU64,
    /// Counts the open files.
    _count: Arc<()>,
}

/// A shared file that changed, and is read again by the caller.
struct AgainFile {
    file: OpenFile,
    path: PathBuf,
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
        let sparse = large && found.sparse;
        let file = Arc::new(file);
        Ok(Self { file, check, at: 0, ended: None, compared: false, data_end: 0, sparse, shared: None })
    }

    /// The next piece. At the end the file is examined again.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Fault> {
        if self.at == self.check.size {
            let compared = if self.shared.is_some() { Ok(()) } else { self.compare() };
            return compared.map(|()| Extent::End);
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

    /// The next bytes, at most `most` and only data, for a worker to read. `path` is the file's path in messages; a clone of `count`
    /// lives as long as the file is open.
    pub fn read_later(&mut self, most: usize, path: impl FnOnce() -> PathBuf, count: &Arc<()>) -> Option<UnreadPart> {
        let end = if self.sparse { self.data_end } else { self.check.size };
        let bytes = usize::try_from(end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(most);
        if bytes == 0 || self.ended.is_some() {
            return None;
        }
        let shared = self.shared.get_or_insert_with(|| {
            let file = Arc::clone(&self.file);
            let ended = AtomicU64::new(u64::MAX);
            Arc::new(SharedFile {
                file,
                path: path(),
                check: self.check,
                sparse: self.sparse,
                ended,
                _count: Arc::clone(count),
            })
        });
        let content: Arc<dyn SharedContent> = Arc::<SharedFile>::clone(shared);
        let part = UnreadPart { content, offset: self.at, bytes };
        self.at += bytes as u64;
        Some(part)
    }

    /// See [`crate::Source::data_ranges`].
    pub fn data_ranges(&self, most: usize) -> Option<Vec<Range<u64>>> {
        let mut ranges = Vec::new();
        let mut at = 0;
        while self.sparse && at < self.check.size {
            let start = match rustix::fs::seek(&self.file, SeekFrom::Data(at)) {
                Ok(start) => start,
                Err(Errno::NXIO) => break,
                Err(_) => return None,
            };
            let end = rustix::fs::seek(&self.file, SeekFrom::Hole(start)).ok().filter(|end| *end > start)?;
            if ranges.len() == most {
                return None;
            }
            if start < self.check.size {
                ranges.push(start..end.min(self.check.size));
            }
            at = end;
        }
        self.sparse.then_some(ranges)
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
        if let Some(shared) = &self.shared {
            shared.ended.fetch_min(self.at, Ordering::Relaxed);
        }
        self.at = self.check.size;
        Extent::Hole(rest)
    }

    fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let end = if self.sparse { self.data_end } else { self.check.size };
        let length = usize::try_from(end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let count = read_at(&self.file, &mut buffer[..length], self.at)?;
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

fn read_at(file: &OwnedFd, buffer: &mut [u8], offset: u64) -> Result<usize, Fault> {
    rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *buffer, offset)).tried("cannot read").map_err(|fault| {
        let now = rustix::fs::fstat(file);
        fault.unless_turned(FileType::RegularFile, now)
    })
}

impl SharedContent for SharedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let count = read_at(&self.file, &mut buffer[done..], at).map_err(|fault| fault.at(&self.path))?;
            if count == 0 {
                self.ended.fetch_min(at, Ordering::Relaxed);
                break;
            }
            done += count;
        }
        Ok(done)
    }

    fn end(&self) -> Result<ContentEnd, Error> {
        let mut check = self.check;
        let ended = Some(self.ended.load(Ordering::Relaxed)).filter(|&ended| ended < u64::MAX);
        let stat = rustix::fs::fstat(&self.file).tried("cannot examine");
        stat.and_then(|stat| check.end(&stat, ended)).map_err(|fault| fault.at(&self.path))?;
        if check.wants_again() {
            let file = OpenFile {
                file: Arc::clone(&self.file),
                check,
                at: check.size,
                ended: None,
                compared: true,
                data_end: 0,
                sparse: self.sparse,
                shared: None,
            };
            return Ok(ContentEnd::Again(Box::new(AgainFile { file, path: self.path.clone() })));
        }
        Ok(check.change().map_or(ContentEnd::Unchanged, |change| ContentEnd::Changed(change.text(&self.path))))
    }
}

impl Source for AgainFile {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.file.read(buffer).map_err(|fault| fault.at(&self.path))
    }

    fn read_again(&mut self) -> Option<u64> {
        self.file.read_again()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.file.at, Some(self.file.check.size))
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.file.take_change().map(|change| change.text(&self.path)).into_iter().collect()
    }
}
