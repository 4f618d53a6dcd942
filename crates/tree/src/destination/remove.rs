//! Removes all that is in a directory, however deep, without following anything.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::directory::{Directory, FileId};
use super::node::DestinationNode;
use super::refusal::{Refusal, Tried};
use crate::Bytes;

/// How often a directory is emptied again that others go on filling.
const FILLED_AGAIN_MOST: usize = 1000;

/// Removes a directory with everything in it, even if threads go on filling it: sooner or later they run out of directories. What
/// has taken its place (a link) stays, as does what cannot be removed.
pub fn remove_tree(path: &Path) {
    let _: Option<usize> = (0..FILLED_AGAIN_MOST).find(|_| tree_is_gone(path));
}

/// Clears and removes a directory; false if something was put into it meanwhile.
fn tree_is_gone(path: &Path) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return true;
    }
    let _: Result<(), Refusal> = Directory::root(path).and_then(|directory| directory.clear());
    !matches!(fs::remove_dir(path), Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty)
}

/// A directory on the way down: which it is, and the name of the one below it that is being emptied.
struct Level {
    id: FileId,
    below: Bytes,
}

impl Directory {
    /// Removes everything in it. What others put into it meanwhile is removed too, as long as they end some time.
    ///
    /// One directory is open at a time, so any depth is emptied; the way back leads through `..`, and must lead to where
    /// it came from.
    ///
    /// # Errors
    /// The system refuses; [`Refusal::Replaced`] if directories are moved meanwhile.
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

    /// Removes what is no directory; the name of a directory that is left.
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
                // The file system does not tell types.
                Err(Refusal::Os(_, Errno::ISDIR)) => return Ok(Some(name.to_vec())),
                other => other?,
            }
        }
        Ok(None)
    }

    /// Opens a directory even if its permissions are against it, and makes sure that its entries can be removed.
    fn open_to_clear(&self, name: &[u8]) -> Result<Directory, Refusal> {
        if let Err(Refusal::Os(_, Errno::ACCESS)) = self.open(name) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd: OwnedFd = rustix::fs::openat(self, name, flags, Mode::empty()).tried("cannot open")?;
            DestinationNode::new(fd).attributes().set_mode(0o700)?;
        }
        let directory = self.open(name)?;
        // If that is refused, so is what follows, where it matters.
        let _: Result<(), Refusal> = directory.attributes().set_mode(0o700);
        Ok(directory)
    }

    /// Another handle of it.
    ///
    /// # Errors
    /// The system refuses.
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

    /// Removes the directory `name` with everything in it.
    ///
    /// # Errors
    /// As [`clear`](Self::clear).
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
    fn a_tree_goes_with_all_that_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let (tree, outside) = (top.path().join("tree"), top.path().join("outside"));
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
