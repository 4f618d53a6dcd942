//! The result of a scan: an entry, and the place of its file.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

use super::fault::{Fault, Tried};
use super::stat::{FileId, ModifiedAt};
use super::xattr::{XattrReader, join};
use crate::{Entry, Kind};

/// Files of at most so many bytes are read whole, ahead of the caller if there are readers; larger ones piece by piece.
pub(super) const SMALL_BYTES: u64 = 128 << 10;

/// The most bytes of a file whose size is given as 0: some of /proc have no end.
pub(super) const UNSIZED_MOST: u64 = 64 << 20;

/// Bytes read at once of a file whose size is not known.
const COUNTED_AT_ONCE: usize = 64 << 10;

/// Where a file is.
#[derive(Debug)]
pub(crate) enum Place {
    /// In an open directory, under the last name of the entry's path; `followed` if that is a symbolic link to it.
    In { directory: Arc<OwnedFd>, followed: bool },
    /// At a path of the machine.
    At(PathBuf),
    /// There is none to read.
    Nowhere,
}

/// The flags with which a name is examined.
pub(super) fn at_flags(followed: bool) -> AtFlags {
    if followed { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW }
}

/// An entry with what is needed to read its file.
#[derive(Debug)]
pub struct ScannedEntry {
    pub entry: Entry,
    pub(crate) place: Place,
    /// The file it must be, if that is known.
    pub(crate) id: Option<FileId>,
    /// It has several names and is no directory.
    pub(crate) shared: bool,
    /// Holes are worth asking for.
    pub(crate) sparse: bool,
    /// Extended attributes are wanted and not there yet.
    pub(crate) wants_xattrs: bool,
    /// When it was last written to, if that is known.
    pub(crate) modified: Option<ModifiedAt>,
    /// Its size was counted: the system says 0.
    pub(crate) measured: bool,
    /// Its size cannot change any more.
    pub(crate) fixed: bool,
}

impl ScannedEntry {
    /// An entry of which nothing more is known.
    pub(crate) fn new(entry: Entry, place: Place) -> ScannedEntry {
        let id = None;
        let modified = None;
        let shared = false;
        let sparse = false;
        let wants_xattrs = false;
        let measured = false;
        let fixed = false;
        ScannedEntry { entry, place, id, shared, sparse, wants_xattrs, modified, measured, fixed }
    }

    /// Size in bytes of a regular file's content; nothing for anything else.
    pub fn size(&self) -> Option<u64> {
        match self.entry.kind {
            Kind::File { size } => Some(size),
            _ => None,
        }
    }

    /// Device and inode number of what has other names and is not a directory.
    pub fn shared_file(&self) -> Option<(u64, u64)> {
        self.id.filter(|_| self.shared)
    }

    /// Whether a reader can complete the entry in one job.
    pub(crate) fn is_small(&self) -> bool {
        !self.is_nowhere() && self.size().map_or(self.wants_xattrs, |size| size <= SMALL_BYTES)
    }

    pub(crate) fn is_nowhere(&self) -> bool {
        matches!(self.place, Place::Nowhere)
    }

    /// Whether it may be another file than was listed: it has no other names, and its attributes are its own.
    pub(crate) fn is_replaceable(&self) -> bool {
        !self.shared && !self.fixed && matches!(self.place, Place::In { .. })
    }

    /// Sets the size of a regular file.
    pub(crate) fn set_size(&mut self, size: u64) {
        self.entry.kind = Kind::File { size };
    }

    /// Counts the bytes of a file whose size is given as 0: files of /proc have content all the same.
    pub(crate) fn measure(&mut self, file: &OwnedFd) -> Result<(), Fault> {
        let size = count(file)?;
        if size > 0 {
            self.set_size(size);
            self.measured = true;
        }
        Ok(())
    }

    /// Its path on this machine, for messages.
    pub fn host_path(&self, root: &Path) -> PathBuf {
        match &self.place {
            Place::At(path) => path.clone(),
            Place::In { .. } | Place::Nowhere => join(root, &self.entry.path),
        }
    }

    /// Reads the extended attributes of what is no open file.
    pub(crate) fn read_xattrs(&mut self, reader: &mut XattrReader, root: &Path) -> Result<(), Fault> {
        if let (true, Place::In { directory, followed }) = (self.wants_xattrs, &self.place) {
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
        // Not to wait for a writer, should it have become a named pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let open = || match &self.place {
            Place::In { directory, followed } => {
                let nofollow = if *followed { OFlags::empty() } else { OFlags::NOFOLLOW };
                rustix::fs::openat(directory, self.name(), flags | nofollow, Mode::empty())
            }
            Place::At(path) => rustix::fs::openat(CWD, path, flags, Mode::empty()),
            Place::Nowhere => Err(rustix::io::Errno::NOENT),
        };
        rustix::io::retry_on_intr(open).tried("cannot open").map_err(|fault| self.explain(fault))
    }

    /// The fault of opening the file: that it is no regular file any more, if that is the cause.
    fn explain(&self, fault: Fault) -> Fault {
        let now = match &self.place {
            Place::In { directory, followed } => rustix::fs::statat(directory, self.name(), at_flags(*followed)),
            Place::At(path) => rustix::fs::stat(path),
            Place::Nowhere => return fault,
        };
        fault.unless_turned(FileType::RegularFile, now)
    }

    fn name(&self) -> &[u8] {
        let path = &self.entry.path;
        memchr::memrchr(b'/', path).map_or(path.as_slice(), |slash| &path[slash + 1..])
    }
}

/// How many bytes can be read of a file, at most [`UNSIZED_MOST`].
fn count(file: &OwnedFd) -> Result<u64, Fault> {
    // Not less at first: some files of /proc have nothing after their first byte if that is read alone.
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
