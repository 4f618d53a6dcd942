//! A file that has its name, and loses it again unless its caller keeps it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::overwrite;
use super::temp_name::{free_name, is_held};
use crate::Temporaries;

/// A file with its name. Dropping it restores the file that was replaced, or removes the file if it replaced none.
#[derive(Debug)]
#[must_use = "dropping it removes the name again"]
pub struct Revocable {
    path: PathBuf,
    before: Before,
    kept: bool,
}

/// The state of the path before.
#[derive(Debug)]
enum Before {
    /// No file. The list removes the new file if the process must stop.
    Nothing(Temporaries),
    File(Replaced),
    /// A file without data, which is written in place. The list restores it.
    Blank(Temporaries),
}

impl Revocable {
    /// The file at `path`, which has replaced another.
    pub(super) fn replacing(path: PathBuf, replaced: Replaced) -> Revocable {
        Revocable { path, before: Before::File(replaced), kept: false }
    }

    /// The new file at `path`, which `list` has listed under this name.
    pub(super) fn new(path: PathBuf, list: Temporaries) -> Revocable {
        Revocable { path, before: Before::Nothing(list), kept: false }
    }

    pub(super) fn in_place(path: PathBuf, list: Temporaries) -> Revocable {
        Revocable { path, before: Before::Blank(list), kept: false }
    }

    /// Keeps the file, and removes the replaced one.
    pub fn keep(mut self) {
        self.kept = true;
        match &mut self.before {
            Before::File(replaced) => replaced.remove(),
            Before::Nothing(list) | Before::Blank(list) => {
                let _: io::Result<()> = list.settle(&self.path, |_| Ok(()));
            }
        }
    }
}

impl Drop for Revocable {
    fn drop(&mut self) {
        match &self.before {
            _ if self.kept => {}
            // Dropping `Replaced` restores the file.
            Before::File(_) => {}
            Before::Nothing(list) | Before::Blank(list) => list.remove(&self.path),
        }
    }
}

/// A file that is about to be replaced, under another name. It gets its name back when this is dropped or the process must stop.
#[derive(Debug)]
pub(super) struct Replaced {
    set_aside: SetAside,
    list: Temporaries,
    removed: bool,
    /// A lock, so that no other run removes the file as a leftover.
    _lock: Option<File>,
}

#[derive(Debug)]
enum SetAside {
    Named(PathBuf),
    /// A copy of the content, for a file that cannot have another name.
    Copied {
        path: PathBuf,
        content: File,
    },
}

impl Replaced {
    /// Gives the regular file at `path`, if there is one, a second name. If that fails, renames the file; if that fails too,
    /// copies it.
    pub(super) fn at(path: &Path, list: &Temporaries) -> io::Result<Option<Replaced>> {
        if !fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) {
            return Ok(None);
        }
        // A file that cannot be read cannot be locked; its second name is unlikely enough.
        let lock = File::open(path).ok().filter(|file| is_held(file).unwrap_or(false));
        let make = |name: &Path| match fs::hard_link(path, name) {
            // A file system without links, or a file of another user.
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists && !name.exists() => fs::rename(path, name),
            other => other,
        };
        let set_aside = match free_name(path, |name| list.set_aside(name, path, make)) {
            Ok(((), name)) => SetAside::Named(name),
            Err(cause) if overwrite::is_reason(&cause) => {
                let scratch = list.scratch_for(path);
                SetAside::Copied {
                    path: path.to_path_buf(),
                    content: overwrite::copied(&overwrite::open(path)?, scratch)?,
                }
            }
            Err(cause) => return Err(cause),
        };
        Ok(Some(Replaced { set_aside, list: list.clone(), removed: false, _lock: lock }))
    }

    fn remove(&mut self) {
        self.removed = true;
        let SetAside::Named(name) = &self.set_aside else { return };
        let _: Result<(), ()> = self.list.settle(name, |name| {
            // The next run removes a second name that cannot be removed now.
            let _: io::Result<()> = fs::remove_file(name);
            Ok(())
        });
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        match &self.set_aside {
            _ if self.removed => {}
            SetAside::Named(name) => self.list.remove(name),
            SetAside::Copied { path, content } => {
                // The caller reports the error that led here.
                let _: io::Result<()> = overwrite::open(path).and_then(|file| overwrite::copy_over(content, &file));
            }
        }
    }
}
