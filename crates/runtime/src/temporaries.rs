//! The temporary files and directories that exist now, so that a process that has to stop can remove them.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of the temporary files and directories that exist, shared by the code that makes them and a signal thread that removes
/// them.
///
/// A file is made, and given its final name, while the list is locked: a clean-up sees each file either on the list or not at
/// all.
#[derive(Debug, Clone, Default)]
pub struct Temporaries {
    state: Arc<Mutex<State>>,
    scratch: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct State {
    listed: Vec<Listed>,
    /// Whether the last thing that happened is that an output got its final name.
    settled: bool,
}

#[derive(Debug)]
struct Listed {
    path: PathBuf,
    undo: Undo,
}

#[derive(Debug)]
enum Undo {
    Remove(fn(&Path)),
    /// It is a file that was replaced, and gets its name back.
    Rename(PathBuf),
    /// It is a file that is written in place. It keeps as many bytes as the range begins with, and gets the length that the range ends with.
    Restore(File, Range<u64>),
}

impl Listed {
    fn undo(&self) {
        match &self.undo {
            Undo::Remove(remove) => remove(&self.path),
            Undo::Rename(name) => {
                let _: io::Result<()> = fs::rename(&self.path, name);
                // A rename to another name of the same file does nothing.
                remove_file(&self.path);
            }
            Undo::Restore(file, lengths) => {
                let _: io::Result<()> = file.set_len(lengths.start).and_then(|()| file.set_len(lengths.end));
            }
        }
    }
}

impl Temporaries {
    /// The same list. A copy of what cannot be replaced by a rename goes to an unnamed file in `scratch`.
    #[must_use]
    pub fn with_scratch(self, scratch: impl Into<PathBuf>) -> Temporaries {
        Temporaries { scratch: Some(scratch.into()), ..self }
    }

    /// The directory for copies, if there is one.
    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// The directory for a copy of the file at `path`.
    pub(crate) fn scratch_for<'p>(&'p self, path: &'p Path) -> &'p Path {
        let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.scratch().unwrap_or(beside)
    }

    /// Another output is begun.
    pub(crate) fn begin(&self) {
        self.lock().settled = false;
    }

    /// Whether an output has got its final name, and no other was begun since: the process is about to end by itself.
    pub fn is_settled(&self) -> bool {
        let state = self.lock();
        state.settled && state.listed.is_empty()
    }

    /// Lists a file that is written in place. When it is removed from the list or the process has to stop, the file keeps as many bytes as the
    /// range begins with, and gets the length that the range ends with.
    pub fn restoring(&self, path: &Path, file: File, lengths: Range<u64>) {
        let mut state = self.lock();
        state.settled = false;
        state.listed.push(Listed { path: path.to_path_buf(), undo: Undo::Restore(file, lengths) });
    }

    /// Does a step of the work on a file that is written in place. Once the process has to stop, no step is begun any more: it would undo what
    /// restored the file.
    pub fn unless_stopped<T>(&self, step: impl FnOnce() -> T) -> T {
        let _state = self.lock();
        step()
    }

    /// Makes a file with `make` and lists it.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn create<T>(&self, path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.lock();
        let made = make(path)?;
        state.settled = false;
        state.listed.push(Listed { path: path.to_path_buf(), undo: Undo::Remove(remove_file) });
        Ok(made)
    }

    /// Gives a file that is about to be replaced another name with `make`, and lists that: when it is removed, the file has its name again.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn set_aside(
        &self,
        path: &Path,
        name: &Path,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        make(path)?;
        state.listed.push(Listed { path: path.to_path_buf(), undo: Undo::Rename(name.to_path_buf()) });
        Ok(())
    }

    /// Makes a directory with `make` and lists it; `remove` removes it with everything in it.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn create_tree<T, E>(
        &self,
        path: &Path,
        remove: fn(&Path),
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.lock();
        let made = make()?;
        state.settled = false;
        state.listed.push(Listed { path: path.to_path_buf(), undo: Undo::Remove(remove) });
        Ok(made)
    }

    /// Takes a file or directory off the list once `settle` has given it its final name; leaves it listed if that fails.
    ///
    /// # Errors
    /// Those of `settle`.
    pub fn settle<E>(&self, path: &Path, settle: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        let mut state = self.lock();
        settle(path)?;
        state.settled = true;
        state.listed.retain(|one| one.path != path);
        Ok(())
    }

    /// Gives a file its final name with `settle`, and lists it under that name: the process removes the file if it has to stop. Both are one
    /// step, so a signal between them cannot leave the file behind.
    ///
    /// # Errors
    /// Those of `settle`.
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
        state.listed.push(Listed { path: final_name.to_path_buf(), undo: Undo::Remove(remove_file) });
        Ok(())
    }

    /// Removes one file or directory, or gives a file that was set aside its name back, and takes it off the list.
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

    /// Removes everything that is listed, and lets no other be made or renamed in this process from now on: any thread that tries
    /// waits for ever. For a process that is about to exit.
    pub fn remove_for_good(&self) {
        let state = self.lock();
        state.listed.iter().for_each(Listed::undo);
        std::mem::forget(state);
    }

    /// A list locked by a thread that panicked is still consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A missing file is not an error; one that cannot be removed is ignored.
fn remove_file(path: &Path) {
    let _: io::Result<()> = fs::remove_file(path);
}

#[cfg(test)]
#[allow(clippy::redundant_closure, reason = "a path to the function is not general enough over lifetimes")]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_removed_and_what_is_settled_is_not() {
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
