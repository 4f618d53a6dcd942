//! The result of a scan: an entry, and the location of its file.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

use super::fault::{Fault, Tried};
use super::stat::FileId;
use super::xattr::{XattrReader, join};
use crate::{Entry, Kind, Time};

/// Files of at most this many bytes are read completely, ahead of the caller if there are readers. Larger files are read piece by
/// piece.
pub(super) const SMALL_BYTES: u64 = 128 << 10;

/// Maximum number of bytes of a file with a reported size of 0: some files of /proc have no end.
pub(super) const UNSIZED_MOST: u64 = 64 << 20;

/// Bytes read at a time from a file of unknown size.
const COUNTED_AT_ONCE: usize = 64 << 10;

/// The location of a file.
#[derive(Debug)]
pub(crate) enum FileLocation {
    /// In an open directory, under the last name of the entry's path. `followed` if this name is a symbolic link to the file.
    In { directory: Arc<OwnedFd>, followed: bool },
    /// At a path on this machine.
    At(PathBuf),
    /// There is no file to read.
    Nowhere,
}

/// The flags for examining a name.
pub(super) fn at_flags(followed: bool) -> AtFlags {
    if followed { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW }
}

/// An entry, and the data needed to read its file.
#[derive(Debug)]
pub struct ScannedEntry {
    pub entry: Entry,
    pub(crate) location: FileLocation,
    /// The file that must be found, if known.
    pub(crate) id: Option<FileId>,
    /// The file has several names and is not a directory.
    pub(crate) shared: bool,
    /// The file may have holes.
    pub(crate) sparse: bool,
    /// Extended attributes are requested and have not been read yet.
    pub(crate) wants_xattrs: bool,
    /// The time of the last write, if known.
    pub(crate) modified: Option<Time>,
    /// The size was counted, because the system reports 0.
    pub(crate) measured: bool,
    /// The size cannot change any more.
    pub(crate) fixed: bool,
}

impl ScannedEntry {
    /// An entry without further data.
    pub(crate) fn new(entry: Entry, location: FileLocation) -> ScannedEntry {
        let id = None;
        let modified = None;
        let shared = false;
        let sparse = false;
        let wants_xattrs = false;
        let measured = false;
        let fixed = false;
        ScannedEntry { entry, location, id, shared, sparse, wants_xattrs, modified, measured, fixed }
    }

    /// Size of a regular file's content in bytes. `None` for any other entry.
    pub fn size(&self) -> Option<u64> {
        match self.entry.kind {
            Kind::File { size } => Some(size),
            _ => None,
        }
    }

    /// Device and inode number of a file that has other names and is not a directory.
    pub fn shared_file(&self) -> Option<(u64, u64)> {
        self.id.filter(|_| self.shared)
    }

    /// Whether a reader can complete the entry in one job.
    pub(crate) fn is_small(&self) -> bool {
        !self.is_nowhere() && self.size().map_or(self.wants_xattrs, |size| size <= SMALL_BYTES)
    }

    pub(crate) fn is_nowhere(&self) -> bool {
        matches!(self.location, FileLocation::Nowhere)
    }

    /// Whether another file than the listed one is acceptable: it has no other names, and its attributes are its own.
    pub(crate) fn is_replaceable(&self) -> bool {
        !self.shared && !self.fixed && matches!(self.location, FileLocation::In { .. })
    }

    pub(crate) fn set_size(&mut self, size: u64) {
        self.entry.kind = Kind::File { size };
    }

    /// Counts the bytes of a file with a reported size of 0, because files of /proc have content anyway.
    pub(crate) fn measure(&mut self, file: &OwnedFd) -> Result<(), Fault> {
        let size = count(file)?;
        if size > 0 {
            self.set_size(size);
            self.measured = true;
        }
        Ok(())
    }

    /// The path on this machine, for messages.
    pub fn host_path(&self, root: &Path) -> PathBuf {
        match &self.location {
            FileLocation::At(path) => path.clone(),
            FileLocation::In { .. } | FileLocation::Nowhere => join(root, &self.entry.path),
        }
    }

    /// Reads the extended attributes of a file that is not open.
    pub(crate) fn read_xattrs(&mut self, reader: &mut XattrReader, root: &Path) -> Result<(), Fault> {
        if let (true, FileLocation::In { directory, followed }) = (self.wants_xattrs, &self.location) {
            self.entry.xattrs = reader.below(directory, self.name(), *followed, &join(root, &self.entry.path))?;
        }
        self.wants_xattrs = false;
        Ok(())
    }

    /// Reads the extended attributes of the open file.
    pub(crate) fn read_xattrs_of(&mut self, file: &OwnedFd, reader: &mut XattrReader) -> Result<(), Fault> {
        if std::mem::take(&mut self.wants_xattrs) {
            self.entry.xattrs = reader.open(file)?;
        }
        Ok(())
    }

    /// Opens the regular file.
    pub(crate) fn open(&self) -> Result<OwnedFd, Fault> {
        // NONBLOCK: if it has become a named pipe, do not wait for a writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let open = || match &self.location {
            FileLocation::In { directory, followed } => {
                let nofollow = if *followed { OFlags::empty() } else { OFlags::NOFOLLOW };
                rustix::fs::openat(directory, self.name(), flags | nofollow, Mode::empty())
            }
            FileLocation::At(path) => rustix::fs::openat(CWD, path, flags, Mode::empty()),
            FileLocation::Nowhere => Err(rustix::io::Errno::NOENT),
        };
        rustix::io::retry_on_intr(open).tried("cannot open").map_err(|fault| self.explain(fault))
    }

    /// The fault of opening the file: it is not a regular file any more, if that is the cause.
    fn explain(&self, fault: Fault) -> Fault {
        let now = match &self.location {
            FileLocation::In { directory, followed } => rustix::fs::statat(directory, self.name(), at_flags(*followed)),
            FileLocation::At(path) => rustix::fs::stat(path),
            FileLocation::Nowhere => return fault,
        };
        fault.unless_turned(FileType::RegularFile, now)
    }

    fn name(&self) -> &[u8] {
        let path = &self.entry.path;
        memchr::memrchr(b'/', path).map_or(path.as_slice(), |slash| &path[slash + 1..])
    }
}

/// Number of bytes that can be read from a file, at most [`UNSIZED_MOST`].
fn count(file: &OwnedFd) -> Result<u64, Fault> {
    // Not fewer at first: some files of /proc return nothing after their first byte if this byte is read alone.
    let mut buffer = Vec::with_capacity(COUNTED_AT_ONCE);
    let mut count = 0;
    while count < UNSIZED_MOST {
        buffer.clear();
        let read = || rustix::io::pread(file, spare_capacity(&mut buffer), count);
        match retry(read)? {
            0 => break,
            more => count += more as u64,
        }
    }
    Ok(count.min(UNSIZED_MOST))
}

fn retry(mut read: impl FnMut() -> rustix::io::Result<usize>) -> Result<usize, Fault> {
    rustix::io::retry_on_intr(&mut read).tried("cannot read")
}
