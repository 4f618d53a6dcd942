//! A file that has got its name, and loses it again unless all that belongs to it is done too.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::overwrite;
use super::temp_name::{free_name, is_held};
use crate::Temporaries;

/// A file with its name. When this is dropped, the file that it replaced is there again, or none if there was none.
#[derive(Debug)]
#[must_use = "a dropped one takes the name away again"]
pub struct Revocable {
    path: PathBuf,
    before: Before,
    kept: bool,
}

/// What was at the path before.
#[derive(Debug)]
enum Before {
    /// The list removes the file when the process has to stop.
    Nothing(Temporaries),
    File(Replaced),
    /// A file without data, which is written in place and which the list restores.
    Blank(Temporaries),
}

impl Revocable {
    /// The file at `path`, which has replaced another.
    pub(super) fn replacing(path: PathBuf, replaced: Replaced) -> Revocable {
        Revocable { path, before: Before::File(replaced), kept: false }
    }

    /// The new file at `path`, which `list` has under this name.
    pub(super) fn new(path: PathBuf, list: Temporaries) -> Revocable {
        Revocable { path, before: Before::Nothing(list), kept: false }
    }

    pub(super) fn in_place(path: PathBuf, list: Temporaries) -> Revocable {
        Revocable { path, before: Before::Blank(list), kept: false }
    }

    /// The file keeps its name, and the replaced one is gone.
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
            // It restores itself.
            Before::File(_) => {}
            Before::Nothing(list) | Before::Blank(list) => list.remove(&self.path),
        }
    }
}

/// A file that is about to be replaced, under another name. It gets its name back when this is dropped, or when the process has to stop.
#[derive(Debug)]
pub(super) struct Replaced {
    place: Aside,
    list: Temporaries,
    removed: bool,
    /// Locked, so that no other run removes it as a leftover.
    _lock: Option<File>,
}

/// Where a file is that is about to be replaced.
#[derive(Debug)]
enum Aside {
    Named(PathBuf),
    /// A file that cannot have another name, and a copy of its content.
    Copied {
        path: PathBuf,
        content: File,
    },
}

impl Replaced {
    /// A second name for a regular file that is at `path`, if there is one. Where that cannot be, it is renamed, and where that cannot be, copied.
    pub(super) fn at(path: &Path, list: &Temporaries) -> io::Result<Option<Replaced>> {
        if !fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) {
            return Ok(None);
        }
        // One that cannot be read cannot be locked; its name is unlikely enough.
        let lock = File::open(path).ok().filter(|file| is_held(file).unwrap_or(false));
        let make = |name: &Path| match fs::hard_link(path, name) {
            // A file system without links, or a file of another user.
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists && !name.exists() => fs::rename(path, name),
            other => other,
        };
        let place = match free_name(path, |name| list.set_aside(name, path, make)) {
            Ok(((), name)) => Aside::Named(name),
            Err(cause) if overwrite::is_reason(&cause) => {
                let scratch = list.scratch_for(path);
                Aside::Copied {
                    path: path.to_path_buf(),
                    content: overwrite::copied(&overwrite::open(path)?, scratch)?,
                }
            }
            Err(cause) => return Err(cause),
        };
        Ok(Some(Replaced { place, list: list.clone(), removed: false, _lock: lock }))
    }

    fn remove(&mut self) {
        self.removed = true;
        let Aside::Named(name) = &self.place else { return };
        let _: Result<(), ()> = self.list.settle(name, |name| {
            // A second name that cannot be removed is a leftover for the next run.
            let _: io::Result<()> = fs::remove_file(name);
            Ok(())
        });
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        match &self.place {
            _ if self.removed => {}
            Aside::Named(name) => self.list.remove(name),
            Aside::Copied { path, content } => {
                // The error that led here is the one that is reported.
                let _: io::Result<()> = overwrite::open(path).and_then(|file| overwrite::copy_over(content, &file));
            }
        }
    }
}
