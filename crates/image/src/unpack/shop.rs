//! What the walk and every worker share, and the making of one thing at its place with its attributes.

use std::path::PathBuf;
use std::sync::Arc;

use packline_squashfs::read::{Inode, NodeType, ReadError};
use packline_tree::destination::{Attributes, Directory, Refusal, XattrRefusal};

use super::ground::{Ground, below};
use super::notes::{Note, Outcome};
use super::request::{Duplicates, Kept};
use crate::{Error, OpenedImage};

/// What begins the name of a file being made, where the staging directory is on another file system.
const NEAR: &str = ".packline-partial-";

/// What the walk and every worker share.
#[derive(Debug)]
pub struct Shop {
    /// The image.
    pub opened: OpenedImage,
    /// The destination as the user named it.
    pub shown: PathBuf,
    /// Its directories.
    pub ground: Ground,
    /// Where files are made before they are renamed into place; none if they are made in place.
    pub staging: Option<(Arc<Directory>, u64)>,
    /// Which attributes are set.
    pub kept: Kept,
    /// Whether holes stay holes.
    pub sparse: bool,
    /// What becomes of files with equal content.
    pub duplicates: Duplicates,
    /// Whether errors are kept and the rest goes on.
    pub go_on: bool,
}

/// Where something is made, and where it goes when it is done.
#[derive(Debug)]
pub struct Spot {
    /// The directory and name it has in the end.
    pub home: (Arc<Directory>, Vec<u8>),
    /// The directory and name it is made under, if that is another.
    meanwhile: Option<(Arc<Directory>, Vec<u8>)>,
}

impl Spot {
    /// The directory it is made in.
    pub fn directory(&self) -> &Directory {
        self.meanwhile.as_ref().map_or(&self.home.0, |(directory, _)| directory)
    }

    /// The name it is made under.
    pub fn name(&self) -> &[u8] {
        self.meanwhile.as_ref().map_or(&self.home.1, |(_, name)| name)
    }

    /// Makes it with `make`; what an earlier run left under the temporary name goes.
    pub fn make<T>(&self, make: impl Fn(&Directory, &[u8]) -> Result<T, Refusal>) -> Result<T, Refusal> {
        match make(self.directory(), self.name()) {
            Err(Refusal::Os(_, rustix::io::Errno::EXIST)) if self.meanwhile.is_some() => {
                self.directory().unlink(self.name())?;
                make(self.directory(), self.name())
            }
            made => made,
        }
    }

    /// Gives it the name it has in the end, in place of what has that name now.
    pub fn settle(&self) -> Result<(), Refusal> {
        let Some((directory, name)) = &self.meanwhile else { return Ok(()) };
        let settled = directory.rename(name, &self.home.0, &self.home.1);
        // Two names of one file are not renamed onto each other; and what cannot be put in place is not left.
        let _: Result<(), Refusal> = directory.unlink(name);
        settled
    }

    /// Removes what could not be finished.
    pub fn give_up(&self) {
        let _: Result<(), Refusal> = self.directory().unlink(self.name());
    }
}

impl Shop {
    /// The place of an entry; `ticket` tells it from everything else that is being made.
    pub fn spot(&self, directory: u32, name: &[u8], ticket: impl FnOnce() -> String) -> Result<Spot, Refusal> {
        let home = self.ground.open(directory)?;
        let meanwhile = match &self.staging {
            None => None,
            Some((staging, device)) if home.id()?.device == *device => Some((staging.clone(), ticket().into_bytes())),
            Some(_) => Some((home.clone(), format!("{NEAR}{}", ticket()).into_bytes())),
        };
        Ok(Spot { home: (home, name.to_vec()), meanwhile })
    }

    /// The path of an entry as the user would write it.
    pub fn path(&self, directory: u32, name: &[u8]) -> PathBuf {
        below(&self.shown, &self.ground.path(directory, name))
    }

    /// A refusal with the path it is about.
    pub fn refused(&self, directory: u32, name: &[u8], refusal: Refusal) -> Error {
        self.ground.error(&self.shown, directory, name, refusal)
    }

    /// A fault of the image with the entry it was met at.
    pub fn fault(&self, directory: u32, name: &[u8], cause: ReadError) -> Error {
        self.opened.fault_at(&self.ground.path(directory, name), cause)
    }

    /// Sets all attributes that are wanted: owner first, because that clears other things; permissions after extended
    /// attributes, which need write permission; times last.
    pub fn dress(
        &self,
        inode: &Inode,
        entry: (u32, &[u8]),
        attributes: Attributes<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let refused = |refusal| self.refused(entry.0, entry.1, refusal);
        let link = matches!(inode.node, packline_squashfs::read::Node::Symlink(_));
        if self.kept.owners {
            attributes.set_owner(inode.meta.uid, inode.meta.gid).map_err(refused)?;
        }
        if self.kept.xattrs && inode.xattr.is_some() {
            self.set_xattrs(inode, entry, attributes, outcome)?;
        }
        if !link {
            attributes.set_mode(self.mode(inode)).map_err(refused)?;
        }
        if self.kept.times { attributes.set_time(inode.meta.mtime).map_err(refused) } else { Ok(()) }
    }

    fn mode(&self, inode: &Inode) -> u16 {
        if !self.kept.permissions {
            return plain_mode(inode.node_type());
        }
        if self.kept.set_id { inode.meta.mode } else { inode.meta.mode & 0o1777 }
    }

    /// Kinds of attributes that cannot be set are warned of; a single one that cannot is an error.
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
                    outcome.notes.push(Note::xattr(&self.path(directory, name), xattr, forbidden));
                }
            }
        }
        Ok(())
    }
}

/// Permissions of what gets none from the image.
fn plain_mode(kind: NodeType) -> u16 {
    match kind {
        NodeType::Directory => 0o755,
        NodeType::File | NodeType::Symlink => 0o644,
        NodeType::Fifo | NodeType::Socket => 0o700,
        NodeType::BlockDevice | NodeType::CharDevice => 0,
    }
}
