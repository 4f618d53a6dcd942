//! The list of temporary files and directories that exist now, so that a process that must stop can remove them.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of the temporary files and directories that exist, shared by the code that creates them and a signal thread that
/// removes them.
///
/// A file is created and renamed while the list is locked. A clean-up therefore sees a file only if the file is on the list.
#[derive(Debug, Clone, Default)]
pub struct Temporaries {
    state: Arc<Mutex<State>>,
    scratch: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct State {
    listed: Vec<Temporary>,
    /// Whether the last change was that an output got its final name.
    settled: bool,
}

#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    undo: Undo,
}

#[derive(Debug)]
enum Undo {
    Remove(fn(&Path)),
    /// Renames a file that was replaced back to its name.
    Rename(PathBuf),
    /// Restores a file that is written in place: it keeps `start` bytes of the range, and then gets the length `end`.
    Restore(File, Range<u64>),
}

impl Temporary {
    fn undo(&self) {
        match &self.undo {
            Undo::Remove(remove) => remove(&self.path),
            Undo::Rename(name) => {
                let _: io::Result<()> = fs::rename(&self.path, name);
                // A rename does nothing if both names are of the same file, so the second name must be removed.
                remove_file(&self.path);
            }
            Undo::Restore(file, lengths) => {
                let _: io::Result<()> = file.set_len(lengths.start).and_then(|()| file.set_len(lengths.end));
            }
        }
    }
}

impl Temporaries {
    /// The same list. A file that no rename can replace is copied to an unnamed file in `scratch`.
    #[must_use]
    pub fn with_scratch(self, scratch: impl Into<PathBuf>) -> Temporaries {
        Temporaries { scratch: Some(scratch.into()), ..self }
    }

    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// The directory for a copy of the file at `path`.
    pub(crate) fn scratch_for<'p>(&'p self, path: &'p Path) -> &'p Path {
        let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.scratch().unwrap_or(beside)
    }

    /// Records that another output begins.
    pub(crate) fn begin(&self) {
        self.lock().settled = false;
    }

    /// Whether an output has its final name and no other output has begun since: the process is about to end by itself.
    pub fn is_settled(&self) -> bool {
        let state = self.lock();
        state.settled && state.listed.is_empty()
    }

    /// Lists a file that is written in place. If [`Temporaries::remove`] is called or the process must stop, the file keeps
    /// `lengths.start` bytes and then gets the length `lengths.end`.
    pub fn restoring(&self, path: &Path, file: File, lengths: Range<u64>) {
        let mut state = self.lock();
        state.settled = false;
        state.listed.push(Temporary { path: path.to_path_buf(), undo: Undo::Restore(file, lengths) });
    }

    /// Runs a step on a file that is written in place. Once the process must stop, no further step begins, because it would
    /// change the restored file.
    pub fn unless_stopped<T>(&self, step: impl FnOnce() -> T) -> T {
        let _state = self.lock();
        step()
    }

    /// Creates a file with `make` and lists it.
    pub fn create<T>(&self, path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.lock();
        let made = make(path)?;
        state.settled = false;
        state.listed.push(Temporary { path: path.to_path_buf(), undo: Undo::Remove(remove_file) });
        Ok(made)
    }

    /// Gives a file that is about to be replaced a second name with `make`, and lists that name. [`Temporaries::remove`] of the
    /// second name gives the file its first name back.
    pub(crate) fn set_aside(
        &self,
        path: &Path,
        name: &Path,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        make(path)?;
        state.listed.push(Temporary { path: path.to_path_buf(), undo: Undo::Rename(name.to_path_buf()) });
        Ok(())
    }

    /// Creates a directory with `make` and lists it. `remove` must remove it with all its content.
    pub fn create_tree<T, E>(
        &self,
        path: &Path,
        remove: fn(&Path),
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.lock();
        let made = make()?;
        state.settled = false;
        state.listed.push(Temporary { path: path.to_path_buf(), undo: Undo::Remove(remove) });
        Ok(made)
    }

    /// Gives a file or directory its final name with `settle`, and removes it from the list. After an error it stays listed.
    pub fn settle<E>(&self, path: &Path, settle: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        let mut state = self.lock();
        settle(path)?;
        state.settled = true;
        state.listed.retain(|one| one.path != path);
        Ok(())
    }

    /// Gives a file its final name with `settle`, and lists it under that name, so that the file is removed if the process must
    /// stop. The list is locked meanwhile, so no signal can come between the two steps.
    pub(crate) fn settle_revocably<E>(
        &self,
        path: &Path,
        final_name: &Path,
        settle: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut state = self.lock();
        settle(path)?;
        state.settled = false;
        state.listed.retain(|one| one.path != path);
        state.listed.push(Temporary { path: final_name.to_path_buf(), undo: Undo::Remove(remove_file) });
        Ok(())
    }

    /// Undoes the entry of `path` (removes the file or directory, or restores the old file) and removes it from the list.
    pub fn remove(&self, path: &Path) {
        let mut state = self.lock();
        state.listed.retain(|one| {
            let other = one.path != path;
            if !other {
                one.undo();
            }
            other
        });
    }

    /// Undoes every entry of the list. For a process that is about to exit: any thread that later tries to create or rename a
    /// listed file waits forever.
    pub fn remove_for_good(&self) {
        let state = self.lock();
        state.listed.iter().for_each(Temporary::undo);
        std::mem::forget(state);
    }

    /// The list is consistent even after a panic of a thread that held the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ignores a missing file, and a file that cannot be removed.
fn remove_file(path: &Path) {
    let _: io::Result<()> = fs::remove_file(path);
}

#[cfg(test)]
#[allow(clippy::redundant_closure, reason = "a path to the function is not general enough over lifetimes")]
mod tests {
    use super::*;

    #[test]
    fn removes_listed_files_but_not_settled_ones() {
        let top = tempfile::tempdir().unwrap();
        let kept = top.path().join("kept");
        let gone = top.path().join("gone");
        let list = Temporaries::default();
        list.create(&kept, |path| fs::File::create_new(path)).unwrap();
        list.create(&gone, |path| fs::File::create_new(path)).unwrap();
        list.settle(&kept, |path| fs::rename(path, top.path().join("final"))).unwrap();
        list.remove_for_good();
        assert!(top.path().join("final").exists());
        assert!(!gone.exists());
    }

    #[test]
    fn removes_the_final_name_of_a_revocable_file() {
        let top = tempfile::tempdir().unwrap();
        let names = [top.path().join("temporary"), top.path().join("final")];
        let list = Temporaries::default();
        list.create(&names[0], |path| fs::File::create_new(path)).unwrap();
        list.settle_revocably(&names[0], &names[1], |path| fs::rename(path, &names[1])).unwrap();
        assert!(names[1].exists());
        assert!(!list.is_settled());
        list.remove_for_good();
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failed_settling_leaves_the_file_listed() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        let list = Temporaries::default();
        list.create(&path, |path| fs::File::create_new(path)).unwrap();
        assert!(list.settle(&path, |_| Err(io::Error::from(io::ErrorKind::StorageFull))).is_err());
        list.remove_for_good();
        assert!(!path.exists());
    }
}
