//! A tree behind an image that exists.
//!
//! A run that is killed leaves the image as it was, or with its whole tree, or with a mark where the superblock would be
//! (`crates/verity/src/incomplete.rs`): then the next run removes what is behind the image.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::escape::Escape as _;
use packline_runtime::{FileInput, Input, WriteBehind};
use packline_verity::{BLOCK, Leaves, Tree, Uuid, find_appended, find_incomplete, incomplete_mark, write_tree};

use super::{fault, refused, scratch_fault};
use crate::{Error, Observer};

/// An image that a tree is appended to, locked against other runs. What was written is cut off again if this is dropped.
pub(super) struct Appended {
    path: PathBuf,
    image: File,
    size: u64,
    /// Whether anything may be behind the image that has to be cut off.
    begun: bool,
}

impl Appended {
    /// Opens an image without a tree. The rest of a run that was killed is removed.
    pub(super) fn open(path: &Path, observer: &mut dyn Observer) -> Result<Appended, Error> {
        let output = |action| move |cause| Error::Output { path: path.to_path_buf(), action, cause };
        if !path.metadata().map_err(output("cannot look at"))?.is_file() {
            let what = "a block device, whose end is not that of the image";
            return Err(refused(path, what, "a file, or a tree in one of its own"));
        }
        let image = OpenOptions::new().read(true).write(true).open(path).map_err(output("cannot open"))?;
        // File systems without locks have to do without.
        if matches!(image.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(refused(path, "is locked by another run that appends a hash tree", "one run at a time"));
        }
        let input = image.try_clone().and_then(FileInput::new).map_err(output("cannot open"))?;
        let mut appended = Appended { path: path.to_path_buf(), image, size: 0, begun: false };
        appended.size = match find_incomplete(&input).map_err(|cause| fault(path, cause))? {
            Some(at) => appended.remove_incomplete(at, observer)?,
            None => without_tree(path, &input)?,
        };
        Ok(appended)
    }

    fn remove_incomplete(&self, at: u64, observer: &mut dyn Observer) -> Result<u64, Error> {
        let removed = self.image.set_len(at).and_then(|()| self.image.sync_all());
        removed.map_err(self.failed("cannot remove an incomplete hash tree"))?;
        let name = self.path.escaped();
        observer.warning(&format!("{name}: an incomplete hash tree behind it, from byte {at} on, was removed"));
        Ok(at)
    }

    /// Writes the tree to a temporary file first, so that nothing is appended before all of it is known.
    pub(super) fn write(&mut self, leaves: &mut Leaves, uuid: Option<Uuid>, scratch: File) -> Result<Tree, Error> {
        let path = self.path.clone();
        let failed = |cause| scratch_fault(&path, cause);
        let mut whole = scratch.try_clone().map_err(failed)?;
        let mut sink = WriteBehind::new(scratch, None, Arc::default());
        let tree = write_tree(leaves, uuid, &mut sink, 0).map_err(|cause| fault(&path, cause))?;
        sink.flush().map_err(failed)?;
        let mut superblock = [0; BLOCK];
        whole.read_exact_at(&mut superblock, 0).map_err(failed)?;
        whole.seek(SeekFrom::Start(BLOCK as u64)).map_err(failed)?;
        self.mark()
            .and_then(|()| self.grow(tree.bytes))
            .and_then(|()| self.fill(&mut whole))
            .and_then(|()| self.complete(&superblock))
            .map_err(self.failed("cannot append"))?;
        Ok(tree)
    }

    /// Each step is on the medium before the next.
    fn mark(&mut self) -> io::Result<()> {
        self.begun = true;
        self.image.write_all_at(&incomplete_mark(self.size), self.size)?;
        self.image.sync_all()
    }

    /// Gives the file its final length, which tells where the mark is.
    fn grow(&mut self, tree: u64) -> io::Result<()> {
        self.image.set_len(self.size + tree)
    }

    /// Writes what follows the superblock.
    fn fill(&mut self, levels: &mut impl Read) -> io::Result<()> {
        self.image.seek(SeekFrom::Start(self.size + BLOCK as u64))?;
        io::copy(levels, &mut self.image)?;
        self.image.sync_all()
    }

    fn complete(&mut self, superblock: &[u8; BLOCK]) -> io::Result<()> {
        self.image.write_all_at(superblock, self.size)?;
        self.image.sync_all()
    }

    /// All else is done too.
    pub(super) fn keep(mut self) {
        self.begun = false;
    }

    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        let path = self.path.clone();
        move |cause| Error::Output { path: path.clone(), action, cause }
    }
}

impl Drop for Appended {
    fn drop(&mut self) {
        if self.begun {
            // The error that led here is the one that is reported.
            let _: io::Result<()> = self.image.set_len(self.size);
        }
    }
}

/// The size of a file that has no tree behind it.
pub(super) fn without_tree(path: &Path, input: &dyn Input) -> Result<u64, Error> {
    match find_appended(input).map_err(|cause| fault(path, cause))? {
        None => Ok(input.size()),
        Some((at, _)) => {
            let expected = format!("an image without one: it ends at byte {at}");
            Err(refused(path, "has a hash tree behind it already", &expected))
        }
    }
}

#[cfg(test)]
mod tests;
