//! Gathers small writes to a file into large ones.
//!
//! Compressed blocks and metadata come in pieces of a few bytes to a megabyte, nearly always in order. Pieces of fewer than
//! [`STRAIGHT`] bytes are copied together until [`CAPACITY`] is reached; a copy of larger pieces does not pay. Both limits are
//! small on purpose: one write of half a megabyte costs the kernel more CPU than ten writes of a block, because its bytes have
//! left the processor's caches and the page cache allocates large, cold pages for it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_engine::Tracer;
use rustix::fs::{Advice, fadvise};

use super::write_thread::{Piece, WriteThread};
use crate::{ScratchError, SharedBytes, Sink, Temporaries, WriteError};

/// Bytes gathered before they are written.
pub const CAPACITY: usize = 64 * 1024;
/// Pieces of at least this many bytes are written directly.
const STRAIGHT: usize = 16 * 1024;

/// A sink that gathers small writes. The last call must be [`WriteBehind::flush`].
#[derive(Debug)]
pub struct WriteBehind {
    medium: Medium,
    /// Size of the medium in bytes, if it is fixed.
    limit: Option<u64>,
    /// Highest offset written or handed over, shared with progress reports.
    size: Arc<AtomicU64>,
    held: Vec<u8>,
    held_at: u64,
    /// Position of the next append.
    appended: u64,
    /// The thread that writes, if it is not the caller's.
    thread: Option<Box<WriteThread<FilePiece>>>,
    /// The range in which the thread may not have written everything.
    unwritten: Range<u64>,
}

/// A piece and its offset.
struct FilePiece {
    offset: u64,
    piece: Piece,
}

/// A file that is written at offsets.
#[derive(Debug, Clone)]
pub(super) struct Medium {
    file: Arc<File>,
    /// Byte of the file at which the output begins. All other positions count from there.
    origin: u64,
    /// The list of a file that is written in place. It stops writes when the process must stop.
    gate: Option<Temporaries>,
    /// Directory of a temporary file, for errors.
    scratch: Option<PathBuf>,
}

impl Medium {
    /// Writes all of `bytes`. An error is a [`WriteError`].
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = self.file_offset(offset);
        self.gated(|| self.file.write_all_at(bytes, offset)).map_err(|cause| {
            let kind = cause.kind();
            let cause = io::Error::new(kind, WriteError { offset, bytes: bytes.len(), cause });
            match &self.scratch {
                Some(directory) => ScratchError::wrap(directory, cause),
                None => cause,
            }
        })
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
}

impl WriteBehind {
    /// A sink for `file`, which can have at most `limit` bytes.
    pub fn new(file: File, limit: Option<u64>, size: Arc<AtomicU64>) -> WriteBehind {
        let held = Vec::with_capacity(CAPACITY);
        let medium = Medium { file: Arc::new(file), origin: 0, gate: None, scratch: None };
        WriteBehind { medium, limit, size, held, held_at: 0, appended: 0, thread: None, unwritten: 0..0 }
    }

    /// The same sink; errors say that the file is a temporary file in `directory`.
    #[must_use]
    pub fn in_scratch(mut self, directory: &Path) -> WriteBehind {
        self.medium.scratch = Some(directory.to_path_buf());
        self
    }

    /// The same sink for a file that is written in place, which `list` restores if the process must stop.
    #[must_use]
    pub(super) fn in_place(mut self, list: &Temporaries) -> WriteBehind {
        self.medium.gate = Some(list.clone());
        self
    }

    /// The same sink, with the output at byte `origin` of the file. Bytes before `origin` do not change.
    #[must_use]
    pub fn beginning_at(mut self, origin: u64) -> WriteBehind {
        self.medium.origin = origin;
        self
    }

    /// Starts a thread that writes, for which at most `queued` bytes, and at most 1 MiB, wait. If the thread cannot be started, the caller's thread writes.
    pub fn start_thread(&mut self, queued: usize, tracer: Option<Arc<dyn Tracer>>) {
        let medium = self.medium.clone();
        let write = move |job: FilePiece| medium.write(job.offset, job.piece.bytes());
        self.thread = WriteThread::start(write, queued, tracer).ok().map(Box::new);
    }

    /// Writes the buffer, which is then empty, even after an error, and waits for the thread that writes.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pass_held()?;
        self.unwritten = 0..0;
        self.thread.as_mut().map_or(Ok(()), |thread| thread.drain())
    }

    /// Bytes appended so far, including skipped zeros.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Gives a file that ends in skipped zeros its length.
    pub fn end_hole(&self) -> io::Result<()> {
        let ends_in_hole = self.size.load(Ordering::Relaxed) < self.appended;
        let end = self.medium.file_offset(self.appended);
        if ends_in_hole { self.medium.gated(|| self.medium.file.set_len(end)) } else { Ok(()) }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // An empty write does not extend the file, so `size` must not grow: `end_hole` depends on it.
        if bytes.is_empty() {
            return Ok(());
        }
        let end = self.check_end(offset, bytes.len())?;
        if bytes.len() < STRAIGHT {
            self.hold(offset, bytes)?;
        } else {
            self.pass_held()?;
            match self.thread {
                Some(_) => self.pass(offset, Piece::Own(bytes.to_vec()))?,
                None => self.medium.write(offset, bytes)?,
            }
        }
        self.size.fetch_max(end, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the buffer, or hands it over.
    fn pass_held(&mut self) -> io::Result<()> {
        let at = self.held_at;
        self.held_at += self.held.len() as u64;
        if self.thread.is_some() && !self.held.is_empty() {
            let held = std::mem::replace(&mut self.held, Vec::with_capacity(CAPACITY));
            return self.pass(at, Piece::Own(held));
        }
        let written = self.medium.write(at, &self.held);
        self.held.clear();
        written
    }

    /// Hands a piece over to the thread.
    fn pass(&mut self, offset: u64, piece: Piece) -> io::Result<()> {
        let Some(thread) = &mut self.thread else { return self.medium.write(offset, piece.bytes()) };
        let length = piece.bytes().len();
        let end = offset + length as u64;
        let empty = self.unwritten.is_empty();
        self.unwritten =
            if empty { offset..end } else { self.unwritten.start.min(offset)..self.unwritten.end.max(end) };
        thread.write(length, FilePiece { offset, piece })
    }

    fn end(&self) -> u64 {
        self.held_at + self.held.len() as u64
    }

    fn hold(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset != self.end() || self.held.len() + bytes.len() > CAPACITY {
            self.pass_held()?;
            self.held_at = offset;
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// The end of a piece, which must be within the limit.
    fn check_end(&self, offset: u64, length: usize) -> io::Result<u64> {
        let end = offset + length as u64;
        let needed = self.medium.file_offset(end);
        match self.limit {
            Some(limit) if needed > limit => {
                let what = format!("the device has only {limit} bytes, and at least {needed} are needed");
                Err(io::Error::new(io::ErrorKind::StorageFull, what))
            }
            _ => Ok(end),
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

    fn write_shared(&mut self, offset: u64, bytes: SharedBytes) -> io::Result<bool> {
        let length = bytes.bytes().len();
        if self.thread.is_none() || length < STRAIGHT {
            return self.write_at(offset, bytes.bytes());
        }
        let end = self.check_end(offset, length)?;
        self.pass_held()?;
        self.pass(offset, Piece::Shared(bytes))?;
        self.size.fetch_max(end, Ordering::Relaxed);
        Ok(true)
    }

    fn settle(&mut self) -> io::Result<()> {
        match &mut self.thread {
            Some(thread) if thread.has_failed() => Ok(()),
            _ => self.flush(),
        }
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        let overlaps = |start: u64, last: u64| offset < last && end > start;
        if overlaps(self.held_at, self.end()) || overlaps(self.unwritten.start, self.unwritten.end) {
            self.flush()?;
        }
        self.medium.file.read_exact_at(buffer, self.medium.file_offset(offset))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.medium.file.sync_data()?;
        // Only advice: a file system without a medium, or one that keeps pages, still reads from memory.
        let _: rustix::io::Result<()> = fadvise(&self.medium.file, self.medium.origin, None, Advice::DontNeed);
        Ok(())
    }

    /// A file begins empty; a device keeps its old content.
    fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
        let is_file = self.limit.is_none();
        self.appended += if is_file { count } else { 0 };
        Ok(is_file)
    }
}
