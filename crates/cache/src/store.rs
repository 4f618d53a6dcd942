//! The files of a cache.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, OFlags, Timespec, Timestamps, UTIME_OMIT, flock, futimens};

use crate::Error;
use crate::entry::{Entry, HEADER};
use crate::key::Key;

/// The directory of this version's entries.
const VERSION: &str = "v1";
/// Directory of entries that are being written.
const NEW: &str = "new";
const TAG: &str = "CACHEDIR.TAG";
/// The text that <https://bford.info/cachedir/> requires.
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# This is a block cache of packline.\n";
/// Bytes of the largest entry that is read when the block size is not known: far more than a block of any container.
const ENTRY_MOST: usize = 64 << 20;
/// Precision of the time of last use in seconds, because not every use is written.
const USE_PRECISION: i64 = 3600;

/// A directory of entries. Other processes may use it at the same time.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// Start of the program in seconds since 1970. Used as the time of last use.
    now: i64,
    /// Distinguishes the names of unfinished entries of this process.
    serial: AtomicU64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contents {
    pub entries: u64,
    /// Bytes of all entries, with their headers.
    pub bytes: u64,
    /// Times of the earliest and the latest last use in seconds since 1970, to the hour.
    pub used: Option<(i64, i64)>,
}

/// A file with the name of an entry.
pub(crate) struct StoredFile {
    pub key: Key,
    pub path: PathBuf,
    pub bytes: u64,
    /// Time of last use, seconds since 1970.
    pub used: i64,
}

impl Store {
    /// Opens a cache. Creates it if `directory` is missing or empty. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::NotACache`] for a directory with any other content; [`Error::Io`].
    pub fn open(directory: &Path, now: i64) -> Result<Store, Error> {
        let store = Store { root: directory.join(VERSION), now, serial: AtomicU64::new(0) };
        match store.root.symlink_metadata() {
            Ok(about) if about.is_dir() => return Ok(store),
            Ok(_) => return Err(Error::NotACache(directory.to_path_buf())),
            Err(_) => store.make(directory)?,
        }
        Ok(store)
    }

    /// Opens an existing cache.
    ///
    /// # Errors
    /// [`Error::Io`] if the directory does not exist; [`Error::NotACache`] if it is not a cache.
    pub fn existing(directory: &Path, now: i64) -> Result<Store, Error> {
        let missing = |cause| Error::io(directory, "cannot open", cause);
        fs::metadata(directory).map_err(missing)?;
        if directory.join(VERSION).is_dir() {
            Store::open(directory, now)
        } else {
            Err(Error::NotACache(directory.to_path_buf()))
        }
    }

    fn make(&self, directory: &Path) -> Result<(), Error> {
        let create = |path: &Path| make_directory(path).map_err(|cause| Error::io(path, "cannot create", cause));
        if directory.metadata().is_ok_and(|about| !about.is_dir()) {
            return Err(Error::NotACache(directory.to_path_buf()));
        }
        create(directory)?;
        let mut there = fs::read_dir(directory).map_err(|cause| Error::io(directory, "cannot read", cause))?;
        let ours = |name: &OsStr| name == TAG || name == VERSION;
        if there.any(|entry| !entry.is_ok_and(|entry| ours(&entry.file_name()))) {
            return Err(Error::NotACache(directory.to_path_buf()));
        }
        let tag = directory.join(TAG);
        write_tag(&tag).map_err(|cause| Error::io(&tag, "cannot write", cause))?;
        create(&self.root)?;
        create(&self.root.join(NEW))
    }

    fn path(&self, key: &Key) -> PathBuf {
        let (directory, name) = key.names();
        self.root.join(directory).join(name)
    }

    /// Reads the file of an entry into `bytes`, which stay empty if the file does not exist. Reads at most one byte more than
    /// `most`, which shows that the file is too long.
    pub(crate) fn read(&self, key: &Key, most: usize, bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.clear();
        let path = self.path(key);
        match self.read_file(&path, most, bytes) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(Error::io(&path, "cannot read", cause)),
            _ => Ok(()),
        }
    }

    fn read_file(&self, path: &Path, most: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        // NONBLOCK: if it is a pipe, do not wait for a writer.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
        }
        (&file).take(most as u64 + 1).read_to_end(bytes)?;
        if about.mtime() < self.now - USE_PRECISION {
            self.used_now(&file);
        }
        Ok(())
    }

    /// Records a use. If this fails, the entry may be removed too early.
    fn used_now(&self, file: &File) {
        let unchanged = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let now = Timespec { tv_sec: self.now, tv_nsec: 0 };
        let _ = futimens(file, &Timestamps { last_access: unchanged, last_modification: now });
    }

    /// Writes an entry and returns its size in bytes. After an error no part of the entry has its name.
    pub(crate) fn write(&self, key: &Key, entry: Entry<'_>) -> Result<u64, Error> {
        let path = self.path(key);
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let (directory, name) = key.names();
        let new = self.root.join(NEW).join(format!("{directory}{}-{}-{serial}", &name[..14], std::process::id()));
        let written = write_new(&new, key, entry).map_err(|cause| Error::io(&new, "cannot write", cause));
        let named = written.and_then(|()| rename(&new, &path).map_err(|cause| Error::io(&path, "cannot write", cause)));
        if let Err(error) = named {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        Ok((HEADER + entry.block().len()) as u64)
    }

    /// Removes a damaged entry, which is written again. Ignores errors.
    pub(crate) fn remove(&self, key: &Key) {
        let _ = fs::remove_file(self.path(key));
    }

    /// Calls `visit` with each file that has the name of an entry, in any order. Skips files that other processes remove
    /// meanwhile.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(StoredFile)) -> Result<(), Error> {
        for first in 0..=u8::MAX {
            let directory = format!("{first:02x}");
            let path = self.root.join(&directory);
            for file in read_dir(&path)? {
                let Ok(about) = file.metadata() else { continue };
                let key = file.file_name().to_str().and_then(|name| Key::of_names(&directory, name));
                let Some(key) = key.filter(|_| !about.is_dir()) else { continue };
                visit(StoredFile { key, path: file.path(), bytes: about.len(), used: about.mtime() });
            }
        }
        Ok(())
    }

    /// Removes leftovers of killed processes: unfinished entries that are older than [`USE_PRECISION`].
    pub(crate) fn remove_unfinished(&self) -> Result<(), Error> {
        for file in read_dir(&self.root.join(NEW))? {
            if file.metadata().is_ok_and(|about| about.is_file() && about.mtime() < self.now - USE_PRECISION) {
                let _ = fs::remove_file(file.path());
            }
        }
        Ok(())
    }

    /// Counts the entries and their bytes.
    pub fn contents(&self) -> Result<Contents, Error> {
        let mut contents = Contents::default();
        self.visit(&mut |found| {
            contents.entries += 1;
            contents.bytes += found.bytes;
            let (first, last) = contents.used.unwrap_or((found.used, found.used));
            contents.used = Some((first.min(found.used), last.max(found.used)));
        })?;
        Ok(contents)
    }

    /// Removes entries with a wrong checksum. Returns the number of entries read and the number of entries removed.
    pub fn verify(&self) -> Result<(u64, u64), Error> {
        let mut entries = 0;
        let mut damaged = 0;
        let mut bytes = Vec::new();
        self.visit(&mut |found| {
            bytes.clear();
            let read = self.read_file(&found.path, ENTRY_MOST, &mut bytes);
            if matches!(&read, Err(cause) if cause.kind() == io::ErrorKind::NotFound) {
                return;
            }
            entries += 1;
            if read.is_err() || Entry::parse(&found.key, &bytes).is_none() {
                damaged += 1;
                let _ = fs::remove_file(&found.path);
            }
        })?;
        Ok((entries, damaged))
    }

    /// The lock for removing entries. `None` if another process has it, or if it cannot be taken.
    pub(crate) fn try_lock(&self) -> Option<File> {
        // NONBLOCK: if it is a pipe, do not wait for a reader.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let path = self.root.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).custom_flags(flags).open(path).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(lock)
    }
}

/// Writes the tag, if the name is free or of a regular file. Opens without waiting if it is a pipe.
fn write_tag(path: &Path) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(false).custom_flags(flags).mode(0o666).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
    }
    file.set_len(0)?;
    file.write_all(TAG_TEXT.as_bytes())
}

fn write_new(path: &Path, key: &Key, entry: Entry<'_>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    // Written in one call and without a sync: after a power failure the checksum detects missing bytes.
    file.write_all(&[&entry.header(key), entry.block()].concat())
}

/// Gives a file its name. Creates the directory if it is missing.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            to.parent().map_or(Ok(()), make_directory)?;
            fs::rename(from, to)
        }
        renamed => renamed,
    }
}

/// Creates a directory and its parents, accessible only to the owner, if it is missing.
fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The entries of a directory. A missing directory has none.
fn read_dir(path: &Path) -> Result<impl Iterator<Item = fs::DirEntry> + use<>, Error> {
    let entries = match fs::read_dir(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        entries => Some(entries.map_err(|cause| Error::io(path, "cannot read", cause))?),
    };
    Ok(entries.into_iter().flatten().flatten())
}
