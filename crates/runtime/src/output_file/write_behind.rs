//! Writes gathered into large ones, on their way to a file.
//!
//! Compressed blocks and metadata come in pieces of a few bytes to a megabyte, nearly all of them one after the other.
//! Pieces under [`STRAIGHT`] bytes are copied together until [`CAPACITY`] is reached; larger ones are not worth the copy.
//! Both are small on purpose: a write of half a megabyte costs the kernel more CPU than ten of the size of a block, since
//! the bytes have left the caches by then and the page cache takes large, cold pages for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Advice, fadvise};

use crate::{ScratchError, Sink, Temporaries};

/// Bytes gathered before they are written.
pub const CAPACITY: usize = 64 * 1024;
/// Pieces of this many bytes or more are written as they are.
const STRAIGHT: usize = 16 * 1024;

/// A sink that gathers small writes. [`WriteBehind::flush`] must come last.
#[derive(Debug)]
pub struct WriteBehind {
    file: File,
    /// Byte of the file at which the output begins; all other positions count from there.
    origin: u64,
    /// Size of the medium, bytes, if it is fixed.
    limit: Option<u64>,
    /// The list of a file that is written in place, which stops writes.
    gate: Option<Temporaries>,
    /// Directory of a file that is temporary, for errors.
    scratch: Option<PathBuf>,
    /// Highest offset reached, shared with progress reports.
    size: Arc<AtomicU64>,
    held: Vec<u8>,
    held_at: u64,
    /// Where the next bytes are appended.
    appended: u64,
}

impl WriteBehind {
    /// A sink over `file`, which has at most `limit` bytes.
    pub fn new(file: File, limit: Option<u64>, size: Arc<AtomicU64>) -> WriteBehind {
        let held = Vec::with_capacity(CAPACITY);
        WriteBehind { file, origin: 0, limit, gate: None, scratch: None, size, held, held_at: 0, appended: 0 }
    }

    /// The same sink; errors say that the file is a temporary one in `directory`.
    #[must_use]
    pub fn in_scratch(self, directory: &Path) -> WriteBehind {
        WriteBehind { scratch: Some(directory.to_path_buf()), ..self }
    }

    /// The same sink over a file that is written in place and that `list` restores when the process has to stop.
    #[must_use]
    pub(super) fn in_place(self, list: &Temporaries) -> WriteBehind {
        WriteBehind { gate: Some(list.clone()), ..self }
    }

    /// The same sink, with the output at byte `origin` of the file, the bytes before which are left as they are.
    #[must_use]
    pub fn beginning_at(self, origin: u64) -> WriteBehind {
        WriteBehind { origin, ..self }
    }

    /// Writes the buffer, which is empty afterwards, also after an error.
    pub fn flush(&mut self) -> io::Result<()> {
        let written = self.put(self.held_at, &self.held);
        self.held_at += self.held.len() as u64;
        self.held.clear();
        written
    }

    /// Bytes appended so far, zeros that were skipped included.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Gives a file that ends in skipped zeros its length.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn end_hole(&self) -> io::Result<()> {
        let ends_in_hole = self.size.load(Ordering::Relaxed) < self.appended;
        if ends_in_hole { self.gated(|| self.file.set_len(self.place(self.appended))) } else { Ok(()) }
    }

    fn gated(&self, step: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match &self.gate {
            Some(list) => list.unless_stopped(step),
            None => step(),
        }
    }

    /// The byte of the file for an offset.
    fn place(&self, offset: u64) -> u64 {
        self.origin.saturating_add(offset)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // Nothing is written, so the file does not reach up to here: `end_hole` has to see that.
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset + bytes.len() as u64;
        self.check_limit(self.place(end))?;
        if bytes.len() < STRAIGHT {
            self.hold(offset, bytes)?;
        } else {
            self.flush()?;
            self.put(offset, bytes)?;
        }
        self.size.fetch_max(end, Ordering::Relaxed);
        Ok(())
    }

    /// Writes all of `bytes`; an error says where the write that failed began, which may be well before the write that was
    /// asked for last.
    fn put(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = self.place(offset);
        self.gated(|| self.file.write_all_at(bytes, offset)).map_err(|cause| {
            let kind = cause.kind();
            let cause = io::Error::new(kind, format!("{cause}, writing {} bytes at byte {offset}", bytes.len()));
            match &self.scratch {
                Some(directory) => ScratchError::wrap(directory, cause),
                None => cause,
            }
        })
    }

    fn end(&self) -> u64 {
        self.held_at + self.held.len() as u64
    }

    fn hold(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset != self.end() || self.held.len() + bytes.len() > CAPACITY {
            self.flush()?;
            self.held_at = offset;
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    fn check_limit(&self, end: u64) -> io::Result<()> {
        match self.limit {
            Some(limit) if end > limit => {
                let what = format!("the device has only {limit} bytes, and at least {end} are needed");
                Err(io::Error::new(io::ErrorKind::StorageFull, what))
            }
            _ => Ok(()),
        }
    }
}

impl Sink for WriteBehind {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(self.appended, bytes)?;
        self.appended += bytes.len() as u64;
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        self.write(offset, bytes).map(|()| true)
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset < self.end() && offset + buffer.len() as u64 > self.held_at {
            self.flush()?;
        }
        self.file.read_exact_at(buffer, self.place(offset))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()?;
        // Advice: a file system without a medium, or one that keeps pages, reads from memory.
        let _: rustix::io::Result<()> = fadvise(&self.file, self.origin, None, Advice::DontNeed);
        Ok(())
    }

    /// A file begins empty; a device keeps its old content.
    fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
        let is_file = self.limit.is_none();
        self.appended += if is_file { count } else { 0 };
        Ok(is_file)
    }
}
