//! A file without its final name: unnamed, or under a temporary one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags};

use super::revocable::{Replaced, Revocable};
use super::temp_name::{is_held, with_name};
use crate::unnamed::open_unnamed;
use crate::{Error, Observer, Temporaries};

/// Permissions of a new image, before the umask.
const MODE: u32 = 0o644;

/// A file without its final name. Removed if dropped before [`UnfinishedFile::finish`].
#[derive(Debug)]
pub struct UnfinishedFile {
    file: File,
    /// The temporary name; `None` for an unnamed file.
    name: Option<PathBuf>,
    final_name: PathBuf,
    display_path: PathBuf,
    force: bool,
    list: Temporaries,
}

impl UnfinishedFile {
    /// A file in the directory of `final_name`; errors name it `display_path`.
    pub fn create(
        display_path: &Path,
        final_name: PathBuf,
        force: bool,
        list: &Temporaries,
    ) -> Result<UnfinishedFile, Error> {
        let made = match linkable(directory_of(&final_name)) {
            Some(file) => Ok((file, None)),
            None => named(&final_name, list).map(|(file, name)| (file, Some(name))),
        };
        let (file, name) = made.map_err(|cause| Error::output(display_path, "cannot create", cause))?;
        let display_path = display_path.to_path_buf();
        Ok(UnfinishedFile { file, name, final_name, display_path, force, list: list.clone() })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The temporary name, if it has one.
    pub fn name(&self) -> Option<&Path> {
        self.name.as_deref()
    }

    /// Syncs the file, gives it its name, and syncs the directory. Without `force`, a file that was created under
    /// the name meanwhile is an error and stays. A directory that cannot be synced is not an error: the file has its name.
    pub fn finish(mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.file.sync_all().map_err(|cause| Error::output(&self.display_path, "cannot sync", cause))?;
        self.give_name().map_err(|cause| Error::output(&self.display_path, "cannot put the image in place", cause))?;
        if let Err(cause) = sync_directory(directory_of(&self.final_name)) {
            observer.unsynced(&self.display_path, &cause);
        }
        Ok(())
    }

    /// As [`UnfinishedFile::finish`], and undoes it when the result is dropped: a file that was replaced is there again then.
    pub fn finish_revocably(self, observer: &mut dyn Observer) -> Result<Revocable, Error> {
        let failed = |cause| Error::output(&self.display_path, "cannot set aside what is replaced", cause);
        let replaced = if self.force { Replaced::at(&self.final_name, &self.list).map_err(failed)? } else { None };
        let path = self.final_name.clone();
        self.finish(observer)?;
        Ok(Revocable::new(path, replaced))
    }

    fn give_name(&mut self) -> io::Result<()> {
        if self.name.is_none() {
            match link(&self.file, &self.final_name) {
                Err(cause) if self.force && cause.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
            let file = &self.file;
            // Locked before it has the name, so that no other run removes it as a leftover.
            let _: Result<(), TryLockError> = file.try_lock();
            self.name = Some(with_name(&self.final_name, &self.list, |name| link(file, name))?.1);
        }
        let Some(name) = &self.name else { return Ok(()) };
        self.list.settle(name, |from| rename(from, &self.final_name, self.force))?;
        self.name = None;
        Ok(())
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            self.list.remove(&name);
        }
    }
}

/// An unnamed file, where the file system supports them and `/proc` is mounted to give it a name later.
fn linkable(directory: &Path) -> Option<File> {
    let file = open_unnamed(directory, OFlags::empty(), MODE).ok()?;
    let (seen, own) = (fs::metadata(link_source(&file)).ok()?, file.metadata().ok()?);
    ((seen.dev(), seen.ino()) == (own.dev(), own.ino())).then_some(file)
}

fn link_source(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn link(file: &File, name: &Path) -> io::Result<()> {
    Ok(rustix::fs::linkat(CWD, link_source(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn named(place: &Path, list: &Temporaries) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(MODE);
    let make = |name: &Path| {
        let file = options.open(name)?;
        // Before it is locked it looks like a leftover.
        if is_held(&file)? { Ok(file) } else { Err(io::ErrorKind::AlreadyExists.into()) }
    };
    with_name(place, list, make)
}

/// Without `force` the rename must not replace; a file system without that gets a link and an unlink.
fn rename(from: &Path, to: &Path, force: bool) -> io::Result<()> {
    if force {
        return fs::rename(from, to);
    }
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            // It has its name. A second one that cannot be removed is a leftover for the next run.
            let _: io::Result<()> = fs::remove_file(from);
            Ok(())
        }
        other => Ok(other?),
    }
}

/// The directory that a path is in.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Some file systems cannot sync a directory and return EINVAL; nothing is lost by that.
fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

#[cfg(test)]
pub(super) fn create_named(place: &Path, force: bool, list: &Temporaries) -> UnfinishedFile {
    let (file, name) = named(place, list).unwrap();
    UnfinishedFile {
        file,
        name: Some(name),
        final_name: place.to_path_buf(),
        display_path: place.to_path_buf(),
        force,
        list: list.clone(),
    }
}
