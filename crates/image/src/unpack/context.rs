//! State shared by the walk and the workers: creating entries and setting their attributes.

use std::path::PathBuf;
use std::sync::Arc;

use packline_tree::destination::{Attributes, Directory, Refusal, XattrRefusal};
use packline_tree::{Meta, Xattr};
use packline_volume::{Inode, NodeType, ReadError};
use rustix::io::Errno;

use super::dir_table::{DirTable, ROOT, below};
use super::outcome::{Outcome, Warning};
use super::request::{AttributeRules, Duplicates, RestoreAttributes};
use crate::{Error, OpenedImage};

/// Prefix of temporary names on another mount than the staging directory.
const NEAR: &str = ".packline-partial-";

/// State shared by the walk and the workers.
#[derive(Debug)]
pub struct UnpackContext {
    pub opened: OpenedImage,
    /// The destination as the user named it.
    pub display_path: PathBuf,
    pub dirs: DirTable,
    /// The directory where files are created before they are renamed into place; `None` if they are created in place.
    pub staging: Option<Arc<Directory>>,
    pub restore: RestoreAttributes,
    pub rules: Option<Arc<dyn AttributeRules>>,
    /// Whether existing entries are replaced.
    pub replace: bool,
    /// Whether unpacking continues after an attribute cannot be set or a node cannot be created. The error is recorded.
    pub lenient: bool,
    /// Whether holes are kept.
    pub sparse: bool,
    pub duplicates: Duplicates,
    /// Whether unpacking continues after errors of single entries. The errors are recorded.
    pub continue_on_error: bool,
}

/// Temporary and final position of an entry.
#[derive(Debug)]
pub struct StagedEntry {
    /// The final directory and name.
    pub home: (Arc<Directory>, Vec<u8>),
    /// The temporary directory and name, if they differ.
    temporary: Option<(Arc<Directory>, Vec<u8>)>,
    /// Whether it may replace another entry.
    replace: bool,
}

impl StagedEntry {
    /// Returns the directory in which the entry is created.
    pub fn directory(&self) -> &Directory {
        self.temporary.as_ref().map_or(&self.home.0, |(directory, _)| directory)
    }

    /// Returns the name under which the entry is created.
    pub fn name(&self) -> &[u8] {
        self.temporary.as_ref().map_or(&self.home.1, |(_, name)| name)
    }

    /// Creates the entry with `make`. Removes a leftover of an earlier run under the temporary name.
    pub fn make<T>(&self, make: impl Fn(&Directory, &[u8]) -> Result<T, Refusal>) -> Result<T, Refusal> {
        match make(self.directory(), self.name()) {
            Err(Refusal::Os(_, Errno::EXIST)) if self.temporary.is_some() => {
                self.directory().unlink(self.name())?;
                make(self.directory(), self.name())
            }
            made => made,
        }
    }

    /// Renames the entry to its final name, and replaces an existing entry if that is allowed.
    pub fn settle(&self) -> Result<(), Refusal> {
        let Some((directory, name)) = &self.temporary else { return Ok(()) };
        let settled = if self.replace {
            directory.rename(name, &self.home.0, &self.home.1)
        } else {
            directory.rename_new(name, &self.home.0, &self.home.1)
        };
        // Renaming does nothing between two names of one file, and a failed renaming must not leave the temporary name.
        let _: Result<(), Refusal> = directory.unlink(name);
        settled
    }

    /// Removes the entry after an error.
    pub fn give_up(&self) {
        let _: Result<(), Refusal> = self.directory().unlink(self.name());
    }
}

impl UnpackContext {
    /// Returns the position of an entry; `ticket` makes the temporary name unique.
    pub fn staged(&self, directory: u32, name: &[u8], ticket: impl FnOnce() -> String) -> Result<StagedEntry, Refusal> {
        let home = self.dirs.open(directory)?;
        let temporary = match &self.staging {
            None => None,
            Some(staging) if !self.dirs.is_apart(directory) => Some((staging.clone(), ticket().into_bytes())),
            Some(_) => Some((home.clone(), format!("{NEAR}{}", ticket()).into_bytes())),
        };
        Ok(StagedEntry { home: (home, name.to_vec()), temporary, replace: self.replace })
    }

    /// Returns the path of an entry on this machine.
    pub fn path(&self, directory: u32, name: &[u8]) -> PathBuf {
        below(&self.display_path, &self.dirs.path(directory, name))
    }

    /// Adds the path to a failed system call.
    pub fn refused(&self, directory: u32, name: &[u8], refusal: Refusal) -> Error {
        self.dirs.error(&self.display_path, directory, name, refusal)
    }

    /// Adds the entry to a fault of the image.
    pub fn fault(&self, directory: u32, name: &[u8], cause: ReadError) -> Error {
        self.opened.fault_at(&self.dirs.path(directory, name), cause)
    }

    /// Sets all requested attributes. The owner comes first, because a change of it clears other attributes. Permissions come after extended
    /// attributes, which need write permission. Times come last.
    pub fn set_attributes(
        &self,
        inode: &Inode,
        entry: (u32, &[u8]),
        attributes: Attributes<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let refused = |refusal| self.refused(entry.0, entry.1, refusal);
        let kind = inode.node_type();
        let meta = self.rules.as_ref().map_or(inode.meta, |rules| rules.meta(kind, inode.meta));
        let mut mode = self.mode(kind, meta.mode);
        if self.restore.owners && !self.set_owner(meta, entry, attributes, outcome)? {
            mode &= 0o1777;
        }
        if self.restore.xattrs && inode.xattr.is_some() {
            let set = self.set_xattrs(inode, entry, attributes, outcome);
            outcome.keep(set)?;
        }
        if kind != NodeType::Symlink {
            self.keep_lesser(attributes.set_mode(mode).map_err(refused), outcome)?;
        }
        if self.restore.times {
            self.keep_lesser(attributes.set_time(meta.mtime).map_err(refused), outcome)?;
        }
        Ok(())
    }

    /// Sets owner and group. Returns false if they are not set.
    fn set_owner(
        &self,
        meta: Meta,
        (directory, name): (u32, &[u8]),
        attributes: Attributes<'_>,
        outcome: &mut Outcome,
    ) -> Result<bool, Error> {
        match attributes.set_owner(meta.uid, meta.gid) {
            Err(Refusal::Owner(id)) => {
                outcome.warnings.push(Warning::owner(&self.path(directory, name), id));
                Ok(false)
            }
            set => self.keep_lesser(set.map_err(|refusal| self.refused(directory, name, refusal)), outcome),
        }
    }

    /// Returns why the destination, an existing directory, keeps its attributes: it belongs to another user.
    pub fn denied_by_destination(&self, inode: &Inode) -> Option<Refusal> {
        let root = self.dirs.open(ROOT).ok()?;
        let kind = inode.node_type();
        let meta = self.rules.as_ref().map_or(inode.meta, |rules| rules.meta(kind, inode.meta));
        let set = root.attributes().set_mode(self.mode(kind, meta.mode));
        set.err().filter(|refusal| refusal.errno() == Some(Errno::PERM))
    }

    /// Whether an optional step succeeded. Otherwise its error is recorded, or returned.
    pub fn keep_lesser(&self, done: Result<(), Error>, outcome: &mut Outcome) -> Result<bool, Error> {
        match done {
            Err(error) if self.lenient => {
                outcome.problems.push(error);
                Ok(false)
            }
            done => done.map(|()| true),
        }
    }

    fn mode(&self, kind: NodeType, mode: u16) -> u16 {
        if !self.restore.permissions {
            return plain_mode(kind);
        }
        if self.restore.set_id { mode } else { mode & 0o1777 }
    }

    /// Sets extended attributes. Unsupported kinds cause a warning; other failures are errors.
    fn set_xattrs(
        &self,
        inode: &Inode,
        (directory, name): (u32, &[u8]),
        attributes: Attributes<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let image = &self.opened.volume;
        let xattrs = image.xattrs(inode).map_err(|cause| self.fault(directory, name, cause))?;
        let kept = |xattr: &&Xattr| self.rules.as_ref().is_none_or(|rules| rules.keeps_xattr(&xattr.name));
        for xattr in xattrs.iter().filter(kept) {
            match attributes.set_xattr(xattr) {
                Ok(()) => {}
                Err(XattrRefusal::Other(refusal)) => return Err(self.refused(directory, name, refusal)),
                Err(other) => {
                    outcome.counts.xattrs_left_out += 1;
                    let forbidden = other == XattrRefusal::Forbidden;
                    outcome.warnings.push(Warning::xattr(&self.path(directory, name), xattr, forbidden));
                }
            }
        }
        Ok(())
    }
}

/// Returns the default permissions.
fn plain_mode(kind: NodeType) -> u16 {
    match kind {
        NodeType::Directory => 0o755,
        NodeType::File | NodeType::Symlink => 0o644,
        NodeType::Fifo | NodeType::Socket => 0o700,
        NodeType::BlockDevice | NodeType::CharDevice => 0,
    }
}
