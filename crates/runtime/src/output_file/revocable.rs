//! A file that has got its name, and loses it again unless all that belongs to it is done too.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::temp_name::{free_name, is_held};
use crate::Temporaries;

/// A file with its name. When this is dropped, the file that it replaced is there again, or none if there was none.
#[derive(Debug)]
#[must_use = "a dropped one takes the name away again"]
pub struct Revocable {
    path: PathBuf,
    replaced: Option<Replaced>,
    kept: bool,
}

impl Revocable {
    pub(super) fn new(path: PathBuf, replaced: Option<Replaced>) -> Revocable {
        Revocable { path, replaced, kept: false }
    }

    /// The file keeps its name, and the replaced one is gone.
    pub fn keep(mut self) {
        self.kept = true;
        if let Some(replaced) = self.replaced.take() {
            replaced.remove();
        }
    }
}

impl Drop for Revocable {
    fn drop(&mut self) {
        if !self.kept && self.replaced.is_none() {
            // The error that led here is the one that is reported.
            let _: io::Result<()> = fs::remove_file(&self.path);
        }
    }
}

/// A file under another name, which is about to be replaced. It gets its name back when this is dropped, or when the process has to stop.
#[derive(Debug)]
pub(super) struct Replaced {
    name: PathBuf,
    list: Temporaries,
    removed: bool,
    /// Locked, so that no other run removes it as a leftover.
    _lock: Option<File>,
}

impl Replaced {
    /// A second name for a regular file that is at `path`, if there is one. Where that cannot be, it is renamed.
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
        let ((), name) = free_name(path, |name| list.set_aside(name, path, make))?;
        Ok(Some(Replaced { name, list: list.clone(), removed: false, _lock: lock }))
    }

    fn remove(mut self) {
        self.removed = true;
        let _: Result<(), ()> = self.list.settle(&self.name, |name| {
            // A second name that cannot be removed is a leftover for the next run.
            let _: io::Result<()> = fs::remove_file(name);
            Ok(())
        });
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        if !self.removed {
            self.list.remove(&self.name);
        }
    }
}
