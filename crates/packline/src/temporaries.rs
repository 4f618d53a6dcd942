//! The temporary files and directories in being, so that a process told to stop can remove them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_tree::destination::{Directory, Refusal};

/// How often a directory is cleared again that is being filled.
const CLEARED_MOST: usize = 1000;

/// A list of the temporary files and directories in being, shared by whoever makes them and whoever has to clean up (a signal thread).
///
/// A file is made, and given its final name, while the list is held: whoever cleans up sees each file either on the list
/// or not in being.
#[derive(Debug, Clone, Default)]
pub struct Temporaries {
    listed: Arc<Mutex<Vec<Listed>>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Listed {
    File(PathBuf),
    /// A directory with all that is in it.
    Tree(PathBuf),
}

impl Listed {
    fn path(&self) -> &Path {
        match self {
            Listed::File(path) | Listed::Tree(path) => path,
        }
    }

    /// That it is gone already is no error; nothing else can be done about what cannot be removed.
    fn remove(&self) {
        match self {
            Listed::File(path) => drop(fs::remove_file(path)),
            // Workers may go on filling it until the process ends; but sooner or later they are out of directories.
            Listed::Tree(path) => drop((0..CLEARED_MOST).find(|_| tree_is_gone(path))),
        }
    }
}

impl Temporaries {
    /// Makes a file with `make` and lists it.
    pub(crate) fn create<T>(&self, path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let mut listed = self.lock();
        let made = make(path)?;
        listed.push(Listed::File(path.to_path_buf()));
        Ok(made)
    }

    /// Makes a directory with `make` and lists it: it is removed with all that is in it.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn create_tree<T, E>(&self, path: &Path, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut listed = self.lock();
        let made = make()?;
        listed.push(Listed::Tree(path.to_path_buf()));
        Ok(made)
    }

    /// Takes a file or directory off the list once `settle` has given it its final name; leaves it listed if that fails.
    ///
    /// # Errors
    /// Those of `settle`.
    pub fn settle<E>(&self, path: &Path, settle: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        let mut listed = self.lock();
        settle(path)?;
        listed.retain(|one| one.path() != path);
        Ok(())
    }

    /// Removes one file or directory and takes it off the list.
    pub fn remove(&self, path: &Path) {
        let mut listed = self.lock();
        listed.retain(|one| {
            let other = one.path() != path;
            if !other {
                one.remove();
            }
            other
        });
    }

    /// Removes everything that is listed, and lets no other be made or renamed in this process from now on: any thread that tries
    /// waits for ever. For a process that is about to exit.
    pub fn remove_for_good(&self) {
        let listed = self.lock();
        listed.iter().for_each(Listed::remove);
        std::mem::forget(listed);
    }

    /// A list that was held by a thread that panicked is as good as any.
    fn lock(&self) -> MutexGuard<'_, Vec<Listed>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clears and removes a directory; false if something was put into it meanwhile. What has taken its place (a link) stays.
fn tree_is_gone(path: &Path) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return true;
    }
    let _: Result<(), Refusal> = Directory::root(path).and_then(|directory| directory.clear());
    !matches!(fs::remove_dir(path), Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty)
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
    fn a_tree_goes_with_all_that_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let (tree, outside) = (top.path().join("tree"), top.path().join("outside"));
        let list = Temporaries::default();
        fs::create_dir(&outside).unwrap();
        list.create_tree(&tree, || fs::create_dir_all(tree.join("a/b"))).unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("a/link")).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        list.remove(&tree);
        assert!(!tree.exists() && outside.join("kept").exists());
        list.create_tree(&tree, || std::os::unix::fs::symlink(&outside, &tree)).unwrap();
        list.remove_for_good();
        assert!(outside.join("kept").exists(), "a link in its place was followed");
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
