//! One entry of an image, with all attributes.

use std::fmt;
use std::sync::Arc;

use packline_image::OpenedImage;
use packline_tree::{Kind, Meta, Xattr};
use packline_volume::{Inode, Node, Visit};

use crate::error::Error;

/// An entry of an image, from [`Image::entry`](super::image::Image::entry), [`Image::entries`](super::image::Image::entries) or
/// [`Image::read_dir`](super::image::Image::read_dir).
#[derive(Clone)]
pub struct Entry {
    image: Arc<OpenedImage>,
    path: Vec<u8>,
    inode: Inode,
}

impl Entry {
    pub(super) fn new(image: &Arc<OpenedImage>, visit: Visit) -> Entry {
        let Visit { path, inode } = visit;
        Entry { image: Arc::clone(image), path, inode }
    }

    /// The path below the root, without a leading slash; empty for the root.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The last component of the path; empty for the root.
    pub fn name(&self) -> &[u8] {
        self.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }

    /// The type, with the size of a file, the target of a symbolic link and the number of a device. It is never [`Kind::HardLink`]: all names of
    /// a file have its kind, and the same [`Entry::id`].
    pub fn kind(&self) -> Kind {
        match &self.inode.node {
            Node::Directory(_) => Kind::Dir,
            Node::File(file) => Kind::File { size: file.size },
            Node::Symlink(target) => Kind::Symlink(target.clone()),
            Node::BlockDevice(device) => Kind::BlockDevice(*device),
            Node::CharDevice(device) => Kind::CharDevice(*device),
            Node::Fifo => Kind::Fifo,
            Node::Socket => Kind::Socket,
        }
    }

    /// Size of a regular file in bytes, holes included; 0 for any other entry.
    pub fn size(&self) -> u64 {
        if let Node::File(file) = &self.inode.node { file.size } else { 0 }
    }

    /// Whether the entry is a directory.
    pub fn is_dir(&self) -> bool {
        matches!(self.inode.node, Node::Directory(_))
    }

    /// Whether the entry is a regular file.
    pub fn is_file(&self) -> bool {
        matches!(self.inode.node, Node::File(_))
    }

    /// The target of a symbolic link, unchanged.
    pub fn link_target(&self) -> Option<&[u8]> {
        if let Node::Symlink(target) = &self.inode.node { Some(target) } else { None }
    }

    /// Permissions, owner and modification time. A SquashFS image has times in whole seconds.
    pub fn meta(&self) -> Meta {
        self.inode.meta
    }

    /// Number of names of a file; for a directory, the number that `stat` shows.
    pub fn links(&self) -> u32 {
        self.inode.links
    }

    /// Identifies the file in its image: two names with the same number are hard links to one file.
    pub fn id(&self) -> u64 {
        self.inode.at.0
    }

    /// The extended attributes, with full names, in the order of the image.
    ///
    /// # Errors
    /// [`Error::Read`] for attributes that cannot be read.
    pub fn xattrs(&self) -> Result<Vec<Xattr>, Error> {
        let xattrs = self.image.volume.xattrs(&self.inode);
        xattrs.map_err(|cause| self.image.fault_at(&self.path, cause).into())
    }

    pub(super) fn inode(&self) -> &Inode {
        &self.inode
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("path", &format_args!("{}", self.path.escape_ascii()))
            .field("kind", &self.kind())
            .field("meta", &self.inode.meta)
            .finish_non_exhaustive()
    }
}
