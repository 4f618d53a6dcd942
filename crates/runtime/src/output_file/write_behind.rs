//! Gathers small writes to a file into large ones.
//!
//! Compressed blocks and metadata come in pieces of a few bytes to a megabyte, nearly always in order. Pieces of fewer than
//! [`STRAIGHT`] bytes are copied together until [`CAPACITY`] is reached; a copy of larger pieces does not pay. Both limits are
//! small on purpose: one write of half a megabyte costs the kernel more CPU than ten writes of a block, because its bytes have
//! left the processor's caches and the page cache allocates large, cold pages for it.

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
/// Pieces of at least this many bytes are written directly.
const STRAIGHT: usize = 16 * 1024;

/// A sink that gathers small writes. The last call must be [`WriteBehind::flush`].
#[derive(Debug)]
pub struct WriteBehind {
    file: File,
    /// Byte of the file at which the output begins. All other positions count from there.
    origin: u64,
    /// Size of the medium in bytes, if it is fixed.
    limit: Option<u64>,
    /// The list of a file that is written in place. It stops writes when the process must stop.
    gate: Option<Temporaries>,
    /// Directory of a temporary file, for errors.
    scratch: Option<PathBuf>,
    /// Highest offset written, shared with progress reports.
    size: Arc<AtomicU64>,
    held: Vec<u8>,
    held_at: u64,
    /// Position of the next append.
    appended: u64,
}

impl WriteBehind {
    /// A sink for `file`, which can have at most `limit` bytes.
    pub fn new(file: File, limit: Option<u64>, size: Arc<AtomicU64>) -> WriteBehind {
        let held = Vec::with_capacity(CAPACITY);
        WriteBehind { file, origin: 0, limit, gate: None, scratch: None, size, held, held_at: 0, appended: 0 }
    }

    /// The same sink; errors say that the file is a temporary file in `directory`.
    #[must_use]
    pub fn in_scratch(self, directory: &Path) -> WriteBehind {
        WriteBehind { scratch: Some(directory.to_path_buf()), ..self }
    }

    /// The same sink for a file that is written in place, which `list` restores if the process must stop.
    #[must_use]
    pub(super) fn in_place(self, list: &Temporaries) -> WriteBehind {
        WriteBehind { gate: Some(list.clone()), ..self }
    }

    /// The same sink, with the output at byte `origin` of the file. Bytes before `origin` do not change.
    #[must_use]
    pub fn beginning_at(self, origin: u64) -> WriteBehind {
        WriteBehind { origin, ..self }
    }

    /// Writes the buffer, which is then empty, even after an error.
    pub fn flush(&mut self) -> io::Result<()> {
        let written = self.put(self.held_at, &self.held);
        self.held_at += self.held.len() as u64;
        self.held.clear();
        written
    }

    /// Bytes appended so far, including skipped zeros.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Gives a file that ends in skipped zeros its length.
    pub fn end_hole(&self) -> io::Result<()> {
        let ends_in_hole = self.size.load(Ordering::Relaxed) < self.appended;
        if ends_in_hole { self.gated(|| self.file.set_len(self.file_offset(self.appended))) } else { Ok(()) }
    }

    fn gated(&self, step: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match &self.gate {
            Some(list) => list.unless_stopped(step),
            None => step(),
        }
    }

    fn file_offset(&self, offset: u64) -> u64 {
        self.origin.saturating_add(offset)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // An empty write does not extend the file, so `size` must not grow: `end_hole` depends on it.
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset + bytes.len() as u64;
        self.check_limit(self.file_offset(end))?;
        if bytes.len() < STRAIGHT {
            self.hold(offset, bytes)?;
        } else {
            self.flush()?;
            self.put(offset, bytes)?;
        }
        self.size.fetch_max(end, Ordering::Relaxed);
        Ok(())
    }

    /// Writes all of `bytes`. An error names the offset of the failed write, which may be far before the last requested write.
    fn put(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = self.file_offset(offset);
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
        self.file.read_exact_at(buffer, self.file_offset(offset))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()?;
        // Only advice: a file system without a medium, or one that keeps pages, still reads from memory.
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
