//! Removes the content of a directory of any depth, without following links.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::directory::{Directory, FileId};
use super::file::DestinationNode;
use super::refusal::{Refusal, Tried};
use crate::Bytes;

/// Maximum number of times that a directory is emptied again while other processes fill it.
const FILLED_AGAIN_MOST: usize = 1000;

/// Removes a directory with its content, even while threads create files in it. Keeps a link at its path, and everything that
/// cannot be removed.
pub fn remove_tree(path: &Path) {
    let _: Option<usize> = (0..FILLED_AGAIN_MOST).find(|_| tree_is_gone(path));
}

/// Clears and removes a directory. Returns false if it was not empty any more.
fn tree_is_gone(path: &Path) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return true;
    }
    let _: Result<(), Refusal> = Directory::root(path).and_then(|directory| directory.clear());
    !matches!(fs::remove_dir(path), Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty)
}

/// A directory on the path from the root: its id, and the name of its subdirectory that is being emptied.
struct Level {
    id: FileId,
    below: Bytes,
}

impl Directory {
    /// Removes all entries, including entries that other processes create during the removal, up to a limit.
    ///
    /// Only one directory is open at a time, so any depth is possible. The way back uses `..`, and checks that it leads to the
    /// parent directory.
    ///
    /// # Errors
    /// The system call fails; [`Refusal::Replaced`] if directories are moved during the removal.
    pub fn clear(&self) -> Result<(), Refusal> {
        let mut levels: Vec<Level> = Vec::new();
        let mut current = self.again()?;
        let mut refilled = 0;
        loop {
            if let Some(below) = current.empty_of_files()? {
                let next = current.open_to_clear(&below)?;
                levels.push(Level { id: current.id()?, below });
                current = next;
                continue;
            }
            let Some(level) = levels.pop() else { return Ok(()) };
            current = current.parent(level.id)?;
            match current.remove_directory(&level.below) {
                Err(Refusal::Os(_, Errno::NOTEMPTY | Errno::EXIST)) if refilled < FILLED_AGAIN_MOST => refilled += 1,
                Err(Refusal::Os(_, Errno::NOENT)) => {}
                other => other?,
            }
        }
    }

    /// Removes all files. Returns the name of a remaining directory.
    fn empty_of_files(&self) -> Result<Option<Bytes>, Refusal> {
        for entry in Dir::read_from(self).tried("cannot list")? {
            let entry = entry.tried("cannot list")?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if entry.file_type() == FileType::Directory {
                return Ok(Some(name.to_vec()));
            }
            match self.unlink(name) {
                // The file system does not report types.
                Err(Refusal::Os(_, Errno::ISDIR)) => return Ok(Some(name.to_vec())),
                other => other?,
            }
        }
        Ok(None)
    }

    /// Opens a directory even if its permissions deny this, and makes its entries removable.
    fn open_to_clear(&self, name: &[u8]) -> Result<Directory, Refusal> {
        if let Err(Refusal::Os(_, Errno::ACCESS)) = self.open(name) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd: OwnedFd = rustix::fs::openat(self, name, flags, Mode::empty()).tried("cannot open")?;
            DestinationNode::new(fd).attributes().set_mode(0o700)?;
        }
        let directory = self.open(name)?;
        // An error is ignored: the calls that need the permissions then fail too.
        let _: Result<(), Refusal> = directory.attributes().set_mode(0o700);
        Ok(directory)
    }

    /// Another handle of the directory.
    pub fn again(&self) -> Result<Directory, Refusal> {
        Directory::at(self, c".")
    }

    fn parent(&self, expected: FileId) -> Result<Directory, Refusal> {
        let parent = Directory::at(self, c"..")?;
        if parent.id()? == expected { Ok(parent) } else { Err(Refusal::Replaced) }
    }

    fn at(directory: &Directory, name: &std::ffi::CStr) -> Result<Directory, Refusal> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(directory, name, flags, Mode::empty()).map(|fd| directory.with(fd)).tried("cannot open")
    }

    /// Removes the directory `name` with its content.
    pub fn remove_tree(&self, name: &[u8]) -> Result<(), Refusal> {
        self.open_to_clear(name)?.clear()?;
        match rustix::fs::unlinkat(self, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) => Ok(()),
            other => other.tried("cannot remove"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_runtime::Temporaries;

    #[test]
    fn removes_a_tree_with_its_content() {
        let top = tempfile::tempdir().unwrap();
        let tree = top.path().join("tree");
        let outside = top.path().join("outside");
        let list = Temporaries::default();
        fs::create_dir(&outside).unwrap();
        list.create_tree(&tree, remove_tree, || fs::create_dir_all(tree.join("a/b"))).unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("a/link")).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        list.remove(&tree);
        assert!(!tree.exists() && outside.join("kept").exists());
        list.create_tree(&tree, remove_tree, || std::os::unix::fs::symlink(&outside, &tree)).unwrap();
        list.remove_for_good();
        assert!(outside.join("kept").exists(), "a link in its place was followed");
    }
}
