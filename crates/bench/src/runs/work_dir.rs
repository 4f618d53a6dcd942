//! The directory of temporary benchmark files. It is always removed at the end.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use packline_runtime::Temporaries;
use packline_tree::destination::remove_tree;

use crate::Error;

const MAX_NAMES: usize = 16;

/// A temporary directory, removed with its contents.
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
    temporaries: Temporaries,
}

impl WorkDir {
    pub fn new(parent: &Path, temporaries: &Temporaries) -> Result<WorkDir, Error> {
        let whole = fs::canonicalize(parent).map_err(|cause| Error::file("open", parent, &cause))?;
        let mut refusal = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        for _ in 0..MAX_NAMES {
            let path = whole.join(format!(".packline-bench-{:016x}", RandomState::new().build_hasher().finish()));
            match temporaries.create_tree(&path, remove_tree, || fs::create_dir(&path)) {
                Ok(()) => return Ok(WorkDir { path, temporaries: temporaries.clone() }),
                Err(cause) => refusal = cause,
            }
            if refusal.kind() != std::io::ErrorKind::AlreadyExists {
                break;
            }
        }
        Err(Error::file("make a directory in", parent, &refusal))
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Keeps the directory. Returns its path.
    pub fn keep(&self) -> &Path {
        let _: Result<(), std::convert::Infallible> = self.temporaries.settle(&self.path, |_| Ok(()));
        &self.path
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        self.temporaries.remove(&self.path);
    }
}

/// Removes a file, or a directory with its contents, if it exists.
pub fn remove(path: &Path) -> Result<(), Error> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(Error::file("stat", path, &cause)),
    };
    let gone = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    gone.map_err(|cause| Error::file("remove", path, &cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_the_directory_with_its_contents_unless_it_is_kept() {
        let top = tempfile::tempdir().unwrap();
        let list = Temporaries::default();
        let work_dir = WorkDir::new(top.path(), &list).unwrap();
        fs::create_dir_all(work_dir.at("a/b")).unwrap();
        drop(work_dir);
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
        let work_dir = WorkDir::new(top.path(), &list).unwrap();
        let kept = work_dir.keep().to_path_buf();
        drop(work_dir);
        list.remove_for_good();
        assert!(kept.is_dir());
    }

    #[test]
    fn removes_files_and_trees_and_ignores_missing_paths() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        remove(&path).unwrap();
        fs::write(&path, "").unwrap();
        remove(&path).unwrap();
        fs::create_dir_all(path.join("y")).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
    }
}
