//! A file without its final name: unnamed, or with a temporary name.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags};

use super::overwrite;
use super::revocable::{Replaced, Revocable};
use super::side_files::SideFiles;
use super::temp_name::{is_held, with_name};
use crate::escape::Escape;
use crate::unnamed::{open_unnamed, unnamed_temp_file};
use crate::{Error, FileAttributes, FileStamp, Observer, Temporaries};

/// Permissions of a new file, before the umask.
const MODE: u32 = 0o644;
/// Permissions of a file whose final permissions are not known yet, or which has a name before it is complete.
const PRIVATE: u32 = 0o600;

/// A file without its final name. Dropping it before [`UnfinishedFile::finish`] removes it.
#[derive(Debug)]
pub struct UnfinishedFile {
    temporary: Temporary,
    final_name: PathBuf,
    display_path: PathBuf,
    force: bool,
    list: Temporaries,
    /// Whether a signal that comes after the file has its final name removes the file.
    revocable: bool,
    /// Attributes of the replaced file that this file cannot have; `None` if it replaces no file.
    unkept: Option<Vec<String>>,
    /// Files that belong to the content of the replaced file.
    side_files: SideFiles,
    /// The state that the replaced file must still have, because it was read, and its lock.
    guard: Option<(FileStamp, File)>,
}

/// The place of the content until it has its final name.
#[derive(Debug)]
struct Temporary {
    file: File,
    /// The temporary name; `None` for an unnamed file.
    name: Option<PathBuf>,
    /// Permissions that the file gets when it is complete.
    mode: Option<u32>,
    /// Set if the file is not in the directory of the final name and must be copied over the file there. The error is the reason.
    elsewhere: Option<io::Error>,
}

impl UnfinishedFile {
    /// Creates a file in the directory of `final_name`; errors name it `display_path`. It has the attributes of a file that it
    /// replaces from the start.
    pub fn create(
        display_path: &Path,
        final_name: PathBuf,
        force: bool,
        list: &Temporaries,
    ) -> Result<UnfinishedFile, Error> {
        let failed = |cause| Error::output(display_path, "cannot create", cause);
        let replaced = if force { FileAttributes::of_replaced(&final_name) } else { None };
        let temporary = match Temporary::beside(&final_name, replaced.is_some(), list) {
            Err(cause) if replaced.is_some() && overwrite::is_reason(&cause) => {
                Temporary::elsewhere(&final_name, cause, list)
            }
            made => made,
        };
        let temporary = temporary.map_err(failed)?;
        let keeps = replaced.as_ref().filter(|_| temporary.elsewhere.is_none());
        let mut file = UnfinishedFile {
            temporary,
            final_name,
            display_path: display_path.to_path_buf(),
            force,
            list: list.clone(),
            revocable: false,
            unkept: replaced.is_some().then(Vec::new),
            side_files: replaced.as_ref().map_or_else(SideFiles::default, |_| SideFiles::of(display_path)),
            guard: None,
        };
        if let Some(keeps) = keeps {
            let mut unkept = keeps.apply(file.file()).map_err(failed)?;
            if keeps.about().nlink() > 1 {
                unkept.push("its other names (hard links)".to_string());
            }
            file.unkept = Some(unkept);
        }
        Ok(file)
    }

    pub fn file(&self) -> &File {
        &self.temporary.file
    }

    /// The temporary name; `None` for an unnamed file.
    pub fn name(&self) -> Option<&Path> {
        self.temporary.name.as_deref()
    }

    /// Takes the times of another file, and its owner and permissions if this file replaces none.
    pub fn take_attributes(&mut self, attributes: &FileAttributes) -> io::Result<()> {
        if self.unkept.is_none() {
            attributes.apply(self.file())?;
            self.temporary.mode = None;
        }
        attributes.apply_times(self.file())
    }

    /// Limits who can read a new file. A file that replaces another has the attributes of that file already.
    pub fn limit_access(&mut self, attributes: &FileAttributes) -> io::Result<()> {
        if self.unkept.is_none() {
            let most = match self.temporary.mode {
                Some(mode) => mode,
                None => self.file().metadata()?.mode(),
            };
            attributes.limited_to(most).apply(self.file())?;
            self.temporary.mode = None;
        }
        Ok(())
    }

    /// Adds the right to execute to each right to read of a new file. A file that replaces another has the permissions of that file.
    pub fn make_executable(&mut self) -> io::Result<()> {
        if self.unkept.is_some() {
            return Ok(());
        }
        let executable = |mode: u32| mode | (mode & 0o444) >> 2;
        if let Some(mode) = &mut self.temporary.mode {
            *mode = executable(*mode);
            return Ok(());
        }
        let mode = self.file().metadata()?.mode() & 0o777;
        self.file().set_permissions(Permissions::from_mode(executable(mode)))
    }

    /// Suppresses the warning about side files of the replaced file.
    pub fn keeps_side_files(&mut self) {
        self.side_files = SideFiles::default();
    }

    /// Locks the file that is replaced. It was read in the state `stamp`, and `finish` fails if anything has changed it.
    pub fn guard(&mut self, stamp: FileStamp) -> Result<(), Error> {
        let refused = |what: &str| Error::target(&self.display_path, what, "one run at a time");
        let Ok(file) = File::open(&self.final_name) else { return Err(refused("was removed while it was read")) };
        // File systems without locks have no protection.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(refused("is locked by another run, which is writing it"));
        }
        self.guard = Some((stamp, file));
        self.check_unchanged().map_err(|cause| Error::output(&self.display_path, "cannot replace", cause))
    }

    /// Syncs the file, gives it its name, and syncs the directory. Without `force`, fails if another file was created under the
    /// name meanwhile, and keeps that file. A directory that cannot be synced is not an error: the file has its name.
    pub fn finish(mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        if let Some(mode) = self.temporary.mode {
            let set = self.file().set_permissions(Permissions::from_mode(mode));
            set.map_err(|cause| Error::output(&self.display_path, "cannot set permissions", cause))?;
        }
        self.file().sync_all().map_err(|cause| Error::output(&self.display_path, "cannot sync", cause))?;
        let placed = self.put_in_place();
        let overwritten =
            placed.map_err(|cause| Error::output(&self.display_path, "cannot put the file in place", cause))?;
        self.side_files.warn(observer);
        if let Some(reason) = overwritten {
            self.warn(observer, &format!("was overwritten in place, not replaced in one step ({reason})"));
            return Ok(());
        }
        if let Some(unkept) = self.unkept.as_ref().filter(|unkept| !unkept.is_empty()) {
            self.warn(observer, &format!("the file that it replaces had other attributes: {}", unkept.join(", ")));
        }
        if let Err(cause) = sync_directory(directory_of(&self.final_name)) {
            observer.unsynced(&self.display_path, &cause);
        }
        Ok(())
    }

    fn warn(&self, observer: &mut dyn Observer, what: &str) {
        observer.warning(&format!("{}: {what}", self.display_path.escaped()));
    }

    /// Like [`UnfinishedFile::finish`], but undoes it when the result is dropped: the old file gets its name back.
    pub fn finish_revocably(mut self, observer: &mut dyn Observer) -> Result<Revocable, Error> {
        let failed = |cause| Error::output(&self.display_path, "cannot set the old file aside", cause);
        self.check_unchanged().map_err(failed)?;
        let replaced = if self.force { Replaced::at(&self.final_name, &self.list).map_err(failed)? } else { None };
        // The second name has changed the stamp of the old file.
        self.guard = None;
        self.revocable = replaced.is_none();
        let path = self.final_name.clone();
        let list = self.list.clone();
        self.finish(observer)?;
        Ok(match replaced {
            Some(replaced) => Revocable::replacing(path, replaced),
            None => Revocable::new(path, list),
        })
    }

    /// Gives the file its name, or copies it over the file that has the name and returns the reason for copying.
    fn put_in_place(&mut self) -> io::Result<Option<io::Error>> {
        if let Some(reason) = self.temporary.elsewhere.take() {
            return self.overwrite(reason).map(Some);
        }
        if self.temporary.name.is_none() {
            // In one step with the list, so that the file gets no name after a signal.
            match self.settle(&self.final_name, |name| link(&self.temporary.file, name)) {
                Err(cause) if self.force && cause.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|()| None),
            }
            let file = &self.temporary.file;
            // Locked before it has the temporary name, so that no other run removes it as a leftover.
            let _: Result<(), TryLockError> = file.try_lock();
            self.temporary.name = Some(with_name(&self.final_name, &self.list, |name| link(file, name))?.1);
        }
        let Some(name) = self.temporary.name.clone() else { return Ok(None) };
        let renamed = self.settle(&name, |from| {
            self.check_unchanged()?;
            rename(from, &self.final_name, self.force)
        });
        match renamed {
            Err(cause) if self.force && overwrite::is_reason(&cause) => self.overwrite(cause).map(Some),
            Err(cause) => Err(cause),
            Ok(()) => {
                self.temporary.name = None;
                Ok(None)
            }
        }
    }

    fn settle(&self, path: &Path, settle: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        if self.revocable {
            self.list.settle_revocably(path, &self.final_name, settle)
        } else {
            self.list.settle(path, settle)
        }
    }

    /// Copies the file over the file that has its name. A signal waits until the copy is complete.
    fn overwrite(&self, reason: io::Error) -> io::Result<io::Error> {
        if overwrite::open(&self.final_name).is_err() {
            return Err(reason);
        }
        let scratch = self.list.scratch_for(&self.final_name);
        self.list.settle(&self.final_name, |path| {
            self.check_unchanged()?;
            overwrite::overwrite(self.file(), path, scratch)
        })?;
        Ok(reason)
    }

    fn check_unchanged(&self) -> io::Result<()> {
        match &self.guard {
            Some((stamp, _)) if !stamp.is_at(&self.final_name) => {
                let what = "another program changed it since it was read (expected the file that was read)";
                Err(io::Error::other(what))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let Some(name) = self.temporary.name.take() {
            self.list.remove(&name);
        }
    }
}

impl Temporary {
    /// A file in the directory of `target`. No other user can open it if its attributes are set later (`replaces`).
    fn beside(target: &Path, replaces: bool, list: &Temporaries) -> io::Result<Temporary> {
        match linkable(directory_of(target), if replaces { PRIVATE } else { MODE }) {
            Some(file) => Ok(Temporary { file, name: None, mode: None, elsewhere: None }),
            None => Temporary::named(target, replaces, list),
        }
    }

    /// A file with a temporary name. No other user can open it before it is complete.
    fn named(target: &Path, replaces: bool, list: &Temporaries) -> io::Result<Temporary> {
        let make = |name: &Path| {
            // The umask and the directory decide the permissions of a new file.
            let mode = if replaces { None } else { Some(create(name, MODE)?.metadata()?.mode() & 0o777) };
            if mode.is_some() {
                fs::remove_file(name)?;
            }
            let file = create(name, PRIVATE)?;
            // Until it is locked, it looks like a leftover.
            if is_held(&file)? { Ok((file, mode)) } else { Err(io::ErrorKind::AlreadyExists.into()) }
        };
        let ((file, mode), name) = with_name(target, list, make)?;
        Ok(Temporary { file, name: Some(name), mode, elsewhere: None })
    }

    /// An unnamed file in the directory for copies, if the file at `target` can be written. If not, returns `reason`.
    fn elsewhere(target: &Path, reason: io::Error, list: &Temporaries) -> io::Result<Temporary> {
        match list.scratch() {
            Some(scratch) if overwrite::open(target).is_ok() => {
                let file = unnamed_temp_file(scratch)?;
                Ok(Temporary { file, name: None, mode: None, elsewhere: Some(reason) })
            }
            _ => Err(reason),
        }
    }
}

fn create(name: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(name)
}

/// An unnamed file, where the file system supports them and `/proc` is mounted to give it a name later.
fn linkable(directory: &Path, mode: u32) -> Option<File> {
    let file = open_unnamed(directory, OFlags::empty(), mode).ok()?;
    let seen = fs::metadata(link_source(&file)).ok()?;
    let own = file.metadata().ok()?;
    ((seen.dev(), seen.ino()) == (own.dev(), own.ino())).then_some(file)
}

fn link_source(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn link(file: &File, name: &Path) -> io::Result<()> {
    Ok(rustix::fs::linkat(CWD, link_source(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Renames a file. Without `force` the rename must not replace a file. On a file system without such a rename, it is a link and an unlink.
///
/// # Errors
/// A system call fails; `AlreadyExists` without `force` if `to` exists.
pub fn rename(from: &Path, to: &Path, force: bool) -> io::Result<()> {
    if force {
        return fs::rename(from, to);
    }
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Old filters of system calls answer EPERM to calls that they do not know.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            fs::hard_link(from, to)?;
            // The file has its name. The next run removes a second name that cannot be removed now.
            let _: io::Result<()> = fs::remove_file(from);
            Ok(())
        }
        other => Ok(other?),
    }
}

pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Ignores EINVAL, which file systems return that cannot sync a directory.
fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

#[cfg(test)]
pub(super) fn create_named(target: &Path, force: bool, list: &Temporaries) -> UnfinishedFile {
    UnfinishedFile {
        temporary: Temporary::named(target, false, list).unwrap(),
        final_name: target.to_path_buf(),
        display_path: target.to_path_buf(),
        force,
        list: list.clone(),
        unkept: None,
        side_files: SideFiles::default(),
        guard: None,
        revocable: false,
    }
}
