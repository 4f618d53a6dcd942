//! Removes all that is in a directory, however deep, without following anything.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::directory::{Directory, FileId};
use super::node::DestinationNode;
use super::refusal::{Refusal, Tried};
use crate::Bytes;

/// How often a directory is emptied again that others go on filling.
const FILLED_AGAIN_MOST: usize = 1000;

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
