//! State shared by the walk and the workers: creating entries and setting their attributes.

use std::path::PathBuf;
use std::sync::Arc;

use packline_squashfs::read::{Inode, NodeType, ReadError};
use packline_tree::destination::{Attributes, Directory, Refusal, XattrRefusal};

use super::dir_table::{DirTable, below};
use super::outcome::{Outcome, Warning};
use super::request::{Duplicates, RestoreAttributes};
use crate::{Error, OpenedImage};

/// Prefix of temporary names, used where the staging directory is on another file system.
const NEAR: &str = ".packline-partial-";

/// State shared by the walk and the workers.
#[derive(Debug)]
pub struct UnpackContext {
    pub opened: OpenedImage,
    /// The destination as the user named it.
    pub display_path: PathBuf,
    pub dirs: DirTable,
    /// Where files are created before they are renamed into place; `None` if they are created in place.
    pub staging: Option<(Arc<Directory>, u64)>,
    pub restore: RestoreAttributes,
    /// Whether holes stay holes.
    pub sparse: bool,
    pub duplicates: Duplicates,
    /// Whether errors of single entries are recorded and unpacking continues.
    pub continue_on_error: bool,
}

/// Temporary and final place of an entry.
#[derive(Debug)]
pub struct StagedEntry {
    /// The final directory and name.
    pub home: (Arc<Directory>, Vec<u8>),
    /// The temporary directory and name, if different.
    temporary: Option<(Arc<Directory>, Vec<u8>)>,
}

impl StagedEntry {
    /// The directory in which it is created.
    pub fn directory(&self) -> &Directory {
        self.temporary.as_ref().map_or(&self.home.0, |(directory, _)| directory)
    }

    /// The name under which it is created.
    pub fn name(&self) -> &[u8] {
        self.temporary.as_ref().map_or(&self.home.1, |(_, name)| name)
    }

    /// Creates it with `make`; a leftover of an earlier run under the temporary name is removed.
    pub fn make<T>(&self, make: impl Fn(&Directory, &[u8]) -> Result<T, Refusal>) -> Result<T, Refusal> {
        match make(self.directory(), self.name()) {
            Err(Refusal::Os(_, rustix::io::Errno::EXIST)) if self.temporary.is_some() => {
                self.directory().unlink(self.name())?;
                make(self.directory(), self.name())
            }
            made => made,
        }
    }

    /// Renames it to its final name, replacing any existing entry.
    pub fn settle(&self) -> Result<(), Refusal> {
        let Some((directory, name)) = &self.temporary else { return Ok(()) };
        let settled = directory.rename(name, &self.home.0, &self.home.1);
        // Renaming does nothing between two names of one file; and a failed one must not leave the temporary name.
        let _: Result<(), Refusal> = directory.unlink(name);
        settled
    }

    /// Removes it after an error.
    pub fn give_up(&self) {
        let _: Result<(), Refusal> = self.directory().unlink(self.name());
    }
}

impl UnpackContext {
    /// The place of an entry; `ticket` makes the temporary name unique.
    pub fn staged(&self, directory: u32, name: &[u8], ticket: impl FnOnce() -> String) -> Result<StagedEntry, Refusal> {
        let home = self.dirs.open(directory)?;
        let temporary = match &self.staging {
            None => None,
            Some((staging, device)) if home.id()?.device == *device => Some((staging.clone(), ticket().into_bytes())),
            Some(_) => Some((home.clone(), format!("{NEAR}{}", ticket()).into_bytes())),
        };
        Ok(StagedEntry { home: (home, name.to_vec()), temporary })
    }

    /// The path of an entry on this machine.
    pub fn path(&self, directory: u32, name: &[u8]) -> PathBuf {
        below(&self.display_path, &self.dirs.path(directory, name))
    }

    /// Adds the path to a refusal.
    pub fn refused(&self, directory: u32, name: &[u8], refusal: Refusal) -> Error {
        self.dirs.error(&self.display_path, directory, name, refusal)
    }

    /// Adds the entry to a fault of the image.
    pub fn fault(&self, directory: u32, name: &[u8], cause: ReadError) -> Error {
        self.opened.fault_at(&self.dirs.path(directory, name), cause)
    }

    /// Sets all requested attributes: owner first, because that clears others; permissions after extended attributes, which need write
    /// permission; times last.
    pub fn set_attributes(
        &self,
        inode: &Inode,
        entry: (u32, &[u8]),
        attributes: Attributes<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let refused = |refusal| self.refused(entry.0, entry.1, refusal);
        let link = matches!(inode.node, packline_squashfs::read::Node::Symlink(_));
        if self.restore.owners {
            attributes.set_owner(inode.meta.uid, inode.meta.gid).map_err(refused)?;
        }
        if self.restore.xattrs && inode.xattr.is_some() {
            self.set_xattrs(inode, entry, attributes, outcome)?;
        }
        if !link {
            attributes.set_mode(self.mode(inode)).map_err(refused)?;
        }
        if self.restore.times { attributes.set_time(inode.meta.mtime).map_err(refused) } else { Ok(()) }
    }

    fn mode(&self, inode: &Inode) -> u16 {
        if !self.restore.permissions {
            return plain_mode(inode.node_type());
        }
        if self.restore.set_id { inode.meta.mode } else { inode.meta.mode & 0o1777 }
    }

    /// Unsupported kinds of attributes cause a warning; other failures are errors.
    fn set_xattrs(
        &self,
        inode: &Inode,
        (directory, name): (u32, &[u8]),
        attributes: Attributes<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let image = &self.opened.image;
        let xattrs = image.xattrs(inode).map_err(|cause| self.fault(directory, name, cause))?;
        for xattr in &xattrs {
            match attributes.set_xattr(xattr) {
                Ok(()) => {}
                Err(XattrRefusal::Other(refusal)) => return Err(self.refused(directory, name, refusal)),
                Err(other) => {
                    let forbidden = other == XattrRefusal::Forbidden;
                    outcome.warnings.push(Warning::xattr(&self.path(directory, name), xattr, forbidden));
                }
            }
        }
        Ok(())
    }
}

/// Default permissions.
fn plain_mode(kind: NodeType) -> u16 {
    match kind {
        NodeType::Directory => 0o755,
        NodeType::File | NodeType::Symlink => 0o644,
        NodeType::Fifo | NodeType::Socket => 0o700,
        NodeType::BlockDevice | NodeType::CharDevice => 0,
    }
}
