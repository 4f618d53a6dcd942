//! The temporary files in being, so that a process told to stop can remove them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of the temporary files in being, shared by whoever makes them and whoever has to clean up (a signal thread).
///
/// A file is made, and given its final name, while the list is held: whoever cleans up sees each file either on the list
/// or not in being.
#[derive(Debug, Clone, Default)]
pub struct Temporaries {
    paths: Arc<Mutex<Vec<PathBuf>>>,
}

impl Temporaries {
    /// Makes a file with `make` and lists it.
    pub(crate) fn create<T>(&self, path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let mut paths = self.lock();
        let made = make(path)?;
        paths.push(path.to_path_buf());
        Ok(made)
    }

    /// Takes a file off the list once `settle` has given it its final name; leaves it listed if that fails.
    pub(crate) fn settle(&self, path: &Path, settle: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let mut paths = self.lock();
        settle(path)?;
        paths.retain(|listed| listed != path);
        Ok(())
    }

    /// Removes one file and takes it off the list. A file that is gone already is no error; nothing else can be done about
    /// one that cannot be removed.
    pub(crate) fn remove(&self, path: &Path) {
        let mut paths = self.lock();
        let _: io::Result<()> = fs::remove_file(path);
        paths.retain(|listed| listed != path);
    }

    /// Removes every listed file, and lets no other be made or renamed in this process from now on: any thread that tries
    /// waits for ever. For a process that is about to exit.
    pub fn remove_for_good(&self) {
        let paths = self.lock();
        for path in paths.iter() {
            let _: io::Result<()> = fs::remove_file(path);
        }
        std::mem::forget(paths);
    }

    /// A list that was held by a thread that panicked is as good as any.
    fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::redundant_closure, reason = "a path to the function is not general enough over lifetimes")]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_removed_and_what_is_settled_is_not() {
        let top = tempfile::tempdir().unwrap();
        let (kept, gone) = (top.path().join("kept"), top.path().join("gone"));
        let list = Temporaries::default();
        list.create(&kept, |path| fs::File::create_new(path)).unwrap();
        list.create(&gone, |path| fs::File::create_new(path)).unwrap();
        list.settle(&kept, |path| fs::rename(path, top.path().join("final"))).unwrap();
        list.remove_for_good();
        assert!(top.path().join("final").exists());
        assert!(!gone.exists());
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
