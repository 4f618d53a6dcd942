//! The directory in which everything is made that is measured; removed at the end, whatever the end is.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use packline::Temporaries;
use packline::tree::destination::remove_tree;

use super::input::cannot;
use crate::failure::Failure;

/// How often another name is tried if one is taken.
const NAMES_MAX: usize = 16;

/// A directory of our own, removed with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    list: Temporaries,
}

impl Scratch {
    /// Makes one below `place`.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn new(place: &Path, list: &Temporaries) -> Result<Scratch, Failure> {
        let whole = fs::canonicalize(place).map_err(|cause| cannot("open", place, &cause))?;
        let mut refusal = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        for _ in 0..NAMES_MAX {
            let path = whole.join(format!(".packline-bench-{:016x}", RandomState::new().build_hasher().finish()));
            match list.create_tree(&path, remove_tree, || fs::create_dir(&path)) {
                Ok(()) => return Ok(Scratch { path, list: list.clone() }),
                Err(cause) => refusal = cause,
            }
            if refusal.kind() != std::io::ErrorKind::AlreadyExists {
                break;
            }
        }
        Err(cannot("make a directory in", place, &refusal))
    }

    /// The path of something in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Leaves it where it is; its path.
    pub fn keep(&self) -> &Path {
        let _: Result<(), std::convert::Infallible> = self.list.settle(&self.path, |_| Ok(()));
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.list.remove(&self.path);
    }
}

/// Removes a file or a directory with all that is in it; it is no error if there is none.
///
/// # Errors
/// The operating system's refusal.
pub fn clear(path: &Path) -> Result<(), Failure> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cannot("look at", path, &cause)),
    };
    let gone = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    gone.map_err(|cause| cannot("remove", path, &cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_all_that_is_in_it_unless_it_is_kept() {
        let top = tempfile::tempdir().unwrap();
        let list = Temporaries::default();
        let scratch = Scratch::new(top.path(), &list).unwrap();
        fs::create_dir_all(scratch.at("a/b")).unwrap();
        drop(scratch);
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
        let scratch = Scratch::new(top.path(), &list).unwrap();
        let kept = scratch.keep().to_path_buf();
        drop(scratch);
        list.remove_for_good();
        assert!(kept.is_dir());
    }

    #[test]
    fn files_trees_and_nothing_are_cleared() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        clear(&path).unwrap();
        fs::write(&path, "").unwrap();
        clear(&path).unwrap();
        fs::create_dir_all(path.join("y")).unwrap();
        clear(&path).unwrap();
        assert!(!path.exists());
    }
}
