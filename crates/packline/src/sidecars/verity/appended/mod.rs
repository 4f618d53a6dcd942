//! A tree that is appended to an existing image.
//!
//! If a signal stops a run, the appended bytes are cut off. A run that is killed leaves the image unchanged, or with its complete tree, or with a
//! mark
//! in place of the superblock (`crates/verity/src/incomplete.rs`). In the last case the next run removes all bytes after the image. A complete tree
//! without
//! a file for its root hash is compared with the image, and the file is written.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::escape::Escape as _;
use packline_runtime::{FileInput, Input, InputChange, Observer, Temporaries, WriteBehind};
use packline_verity::{
    BLOCK, Leaves, Salt, Superblock, Tree, Uuid, find_appended, find_incomplete, incomplete_mark, write_tree,
};

use super::{fault, refused, scratch_fault};
use crate::error::Error;

/// Bytes of a tree that are compared or written between two checks for signals.
const STEP: usize = 256 << 10;

/// An image that a tree is appended to, locked against other runs. The written bytes are cut off again if this is dropped.
pub(super) struct Appended {
    path: PathBuf,
    image: File,
    size: u64,
    /// The superblock of an existing tree.
    present: Option<Superblock>,
    /// Whether the file may have bytes after the image that must be cut off.
    begun: bool,
    list: Temporaries,
}

impl Appended {
    /// Opens an image. The bytes that a killed run appended are removed.
    pub(super) fn open(path: &Path, list: &Temporaries, observer: &mut dyn Observer) -> Result<Appended, Error> {
        let output = |action| move |cause| Error::Output { path: path.to_path_buf(), action, cause };
        if !path.metadata().map_err(output("cannot examine"))?.is_file() {
            let what = "a block device, which does not end where the image ends";
            return Err(refused(path, what, "a file, or a separate file for the tree"));
        }
        let image = OpenOptions::new().read(true).write(true).open(path).map_err(output("cannot open"))?;
        // On file systems without locks, nothing prevents a second run.
        if matches!(image.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(refused(path, "is locked by another run, which is writing it", "one run at a time"));
        }
        let input = image.try_clone().and_then(FileInput::new).map_err(output("cannot open"))?;
        let path = path.to_path_buf();
        let list = list.clone();
        let mut appended = Appended { path, image, size: input.size(), present: None, begun: false, list };
        let of_image = |cause| fault(&appended.path, cause);
        if let Some(at) = find_incomplete(&input).map_err(of_image)? {
            appended.size = appended.remove_incomplete(at, observer)?;
        } else if let Some((at, superblock)) = find_appended(&input).map_err(of_image)? {
            appended.size = at;
            appended.present = Some(superblock);
        }
        Ok(appended)
    }

    /// The bytes of the image, without a tree after it.
    pub(super) fn input(&self) -> io::Result<Arc<dyn Input>> {
        Ok(Arc::new(Front { file: FileInput::new(self.image.try_clone()?)?, size: self.size }))
    }

    /// Whether the image ends with a tree already.
    pub(super) fn is_present(&self) -> bool {
        self.present.is_some()
    }

    /// The salt and the UUID of an existing tree, or the requested ones.
    ///
    /// # Errors
    /// [`Error::Target`] if the existing tree has another salt or UUID than requested.
    pub(super) fn options(&self, salt: &Salt, uuid: Option<Uuid>) -> Result<(Salt, Option<Uuid>), Error> {
        let Some(present) = &self.present else { return Ok((salt.clone(), uuid)) };
        let other_salt = matches!(salt, Salt::Given(bytes) if *bytes != present.salt);
        if other_salt || uuid.is_some_and(|uuid| uuid != present.uuid) {
            return Err(self.refuse_present("with another salt or UUID"));
        }
        Ok((Salt::Given(present.salt.clone()), Some(present.uuid)))
    }

    /// The error for an existing tree whose files exist too.
    pub(super) fn already_there(&self) -> Error {
        Error::HashTree { path: self.path.clone(), at: self.size }
    }

    /// The error for an existing tree that is not the requested one.
    fn refuse_present(&self, how: &str) -> Error {
        refused(&self.path, &format!("already ends with a hash tree {how}, from byte {} on", self.size), "")
    }

    fn remove_incomplete(&self, at: u64, observer: &mut dyn Observer) -> Result<u64, Error> {
        let removed = self.image.set_len(at).and_then(|()| self.image.sync_all());
        removed.map_err(self.failed("cannot remove an incomplete hash tree"))?;
        let name = self.path.escaped();
        observer.warning(&format!("{name}: an incomplete hash tree after it, from byte {at} on, was removed"));
        Ok(at)
    }

    /// Writes the tree to a temporary file first, so that nothing is appended before the complete tree is known.
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
        if self.present.is_some() {
            self.refuse_cut(self.size + tree.bytes)?;
            let same = self.is_same(&superblock, &mut whole).map_err(self.failed("cannot read"))?;
            return if same { Ok(tree) } else { Err(self.refuse_present("that is not its own")) };
        }
        self.mark()
            .and_then(|()| self.grow(tree.bytes))
            .and_then(|()| self.fill(&mut whole))
            .and_then(|()| self.complete(&superblock))
            .map_err(self.failed("cannot append"))?;
        Ok(tree)
    }

    /// Rejects a file that ends before byte `end`, at which the hash tree after the image must end.
    fn refuse_cut(&self, end: u64) -> Result<(), Error> {
        let length = self.image.metadata().map_err(self.failed("cannot examine"))?.len();
        if length >= end {
            return Ok(());
        }
        let what = format!("the hash tree, which begins at byte {}, is cut off at byte {length}", self.size);
        Err(refused(&self.path, &what, &format!("{end} bytes")))
    }

    /// Whether the tree after the image has this superblock and these levels.
    fn is_same(&self, superblock: &[u8; BLOCK], levels: &mut impl Read) -> io::Result<bool> {
        let mut wanted = superblock.to_vec();
        let mut found = vec![0; STEP];
        let mut at = self.size;
        while !wanted.is_empty() {
            let found = &mut found[..wanted.len()];
            self.image.read_exact_at(found, at)?;
            if *found != *wanted {
                return Ok(false);
            }
            at += wanted.len() as u64;
            wanted.clear();
            levels.take(STEP as u64).read_to_end(&mut wanted)?;
        }
        Ok(true)
    }

    /// Each step is on the medium before the next.
    fn mark(&mut self) -> io::Result<()> {
        self.begun = true;
        self.list.restoring(&self.path, self.image.try_clone()?, self.size..self.size);
        self.list.unless_stopped(|| self.image.write_all_at(&incomplete_mark(self.size), self.size))?;
        self.image.sync_all()
    }

    /// Gives the file its final length, which tells where the mark is.
    fn grow(&mut self, tree: u64) -> io::Result<()> {
        self.list.unless_stopped(|| self.image.set_len(self.size + tree))
    }

    /// Writes the blocks after the superblock.
    fn fill(&mut self, levels: &mut impl Read) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(STEP);
        let mut at = self.size + BLOCK as u64;
        loop {
            bytes.clear();
            if levels.take(STEP as u64).read_to_end(&mut bytes)? == 0 {
                return self.image.sync_all();
            }
            self.list.unless_stopped(|| self.image.write_all_at(&bytes, at))?;
            at += bytes.len() as u64;
        }
    }

    fn complete(&mut self, superblock: &[u8; BLOCK]) -> io::Result<()> {
        self.list.unless_stopped(|| self.image.write_all_at(superblock, self.size))?;
        self.image.sync_all()
    }

    /// Keeps the tree. Call it when all other work is done.
    pub(super) fn keep(mut self) {
        if std::mem::take(&mut self.begun) {
            let _: io::Result<()> = self.list.settle(&self.path, |_| Ok(()));
        }
    }

    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        let path = self.path.clone();
        move |cause| Error::Output { path: path.clone(), action, cause }
    }
}

impl Drop for Appended {
    fn drop(&mut self) {
        if self.begun {
            self.list.remove(&self.path);
        }
    }
}

/// The first bytes of a file.
struct Front {
    file: FileInput,
    size: u64,
}

impl Input for Front {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn change(&self) -> io::Result<InputChange> {
        self.file.change()
    }
}

/// Rejects a file with a tree after its image.
pub(super) fn without_tree(path: &Path, input: &dyn Input) -> Result<(), Error> {
    match find_appended(input).map_err(|cause| fault(path, cause))? {
        None => Ok(()),
        Some((at, _)) => Err(Error::HashTree { path: path.to_path_buf(), at }),
    }
}

#[cfg(test)]
mod tests;
