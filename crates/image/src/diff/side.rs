//! One of the two trees, an image or a directory of the file system, through one interface.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use packline_tree::{Bytes, Device, Meta, Time, Xattr};
use packline_volume::{CheckScope, DirEntry, Inode, Listing, Node as InodeNode, NodeType};

use super::{DiffPlace, DiffRequest};
use crate::{Error, OpenedImage};

/// Maximum bytes of a list of attribute names, and of a value, that Linux supports.
const XATTR_MOST: usize = 64 << 10;

/// A tree.
#[derive(Debug, Clone)]
pub(super) enum Side {
    Image(OpenedImage),
    Directory(PathBuf),
}

/// One entry of a tree.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: NodeType,
    pub(super) meta: Meta,
    /// Size of a regular file in bytes.
    pub(super) size: u64,
    /// Target of a symbolic link.
    pub(super) target: Bytes,
    /// Number of a device.
    pub(super) device: Option<Device>,
    /// Identifies the file among all others of the tree, if it may have several names.
    pub(super) shared: Option<(u64, u64)>,
    /// The inode, in an image.
    pub(super) inode: Option<Inode>,
}

/// The names in a directory in ascending order, with their entries.
pub(super) enum Children {
    Image(Box<Listing>),
    Names(std::vec::IntoIter<Bytes>),
}

/// Position of a child.
pub(super) enum Handle {
    Root,
    Entry(DirEntry),
    Path,
}

impl Side {
    pub(super) fn of(place: &DiffPlace, request: &DiffRequest) -> Side {
        match place {
            DiffPlace::Image(image) if request.compared.contents => Side::Image(image.checked(CheckScope::Everything)),
            DiffPlace::Image(image) => Side::Image(image.clone()),
            DiffPlace::Directory(path) => Side::Directory(path.clone()),
        }
    }

    pub(super) fn image(&self) -> Option<&OpenedImage> {
        match self {
            Side::Image(image) => Some(image),
            Side::Directory(_) => None,
        }
    }

    /// Returns the root of the tree.
    pub(super) fn root(&self) -> Result<Node, Error> {
        match self {
            Side::Image(_) => self.node(b"", &Handle::Root),
            // The directory may be given as a symbolic link.
            Side::Directory(root) => {
                let found = fs::metadata(root).map_err(|cause| refused(root, "cannot examine", cause))?;
                of_host(root, &found)
            }
        }
    }

    pub(super) fn node(&self, path: &[u8], handle: &Handle) -> Result<Node, Error> {
        match (self, handle) {
            (Side::Image(image), Handle::Root) => {
                image.volume.inode(image.volume.root()).map(of_inode).map_err(|cause| image.fault_at(path, cause))
            }
            (Side::Image(image), Handle::Entry(entry)) => {
                image.volume.entry_inode(entry).map(of_inode).map_err(|cause| image.fault_at(path, cause))
            }
            _ => {
                let place = self.host_path(path);
                let found = fs::symlink_metadata(&place).map_err(|cause| refused(&place, "cannot examine", cause))?;
                of_host(&place, &found)
            }
        }
    }

    pub(super) fn children(&self, path: &[u8], directory: &Node) -> Result<Children, Error> {
        match (self, &directory.inode) {
            (Side::Image(image), Some(inode)) => {
                let listing = image.volume.entries(inode).map_err(|cause| image.fault_at(path, cause))?;
                Ok(Children::Image(Box::new(listing)))
            }
            _ => names_in(&self.host_path(path)).map(|names| Children::Names(names.into_iter())),
        }
    }

    /// Returns the next name in a directory at `path`.
    pub(super) fn next_child(&self, path: &[u8], children: &mut Children) -> Result<Option<(Bytes, Handle)>, Error> {
        match (self, children) {
            (Side::Image(image), Children::Image(listing)) => match listing.next().transpose() {
                Ok(entry) => Ok(entry.map(|entry| (entry.name.clone(), Handle::Entry(entry)))),
                Err(cause) => Err(image.fault_at(path, cause)),
            },
            (_, Children::Names(names)) => Ok(names.next().map(|name| (name, Handle::Path))),
            _ => Ok(None),
        }
    }

    /// Returns the extended attributes, in the order of their names.
    pub(super) fn xattrs(&self, path: &[u8], node: &Node) -> Result<Vec<Xattr>, Error> {
        let mut xattrs = match (self, &node.inode) {
            (Side::Image(image), Some(inode)) => {
                image.volume.xattrs(inode).map_err(|cause| image.fault_at(path, cause))?
            }
            _ => {
                let place = self.host_path(path);
                host_xattrs(&place).map_err(|cause| refused(&place, "cannot read extended attributes", cause))?
            }
        };
        xattrs.sort();
        Ok(xattrs)
    }

    /// Returns the path of an entry in the file system; for an image, its name in messages.
    pub(super) fn host_path(&self, path: &[u8]) -> PathBuf {
        let root = match self {
            Side::Image(image) => &image.display_path,
            Side::Directory(root) => root,
        };
        if path.is_empty() { root.clone() } else { root.join(OsStr::from_bytes(path)) }
    }
}

pub(super) fn refused(path: &Path, action: &'static str, cause: io::Error) -> Error {
    Error::Source { path: path.to_path_buf(), action, cause }
}

fn of_inode(inode: Inode) -> Node {
    let mut size = 0;
    let mut target = Bytes::new();
    let mut device = None;
    match &inode.node {
        InodeNode::File(file) => size = file.size,
        InodeNode::Symlink(to) => target.clone_from(to),
        InodeNode::BlockDevice(number) | InodeNode::CharDevice(number) => device = Some(*number),
        _ => {}
    }
    let kind = inode.node_type();
    let shared = (inode.links > 1 && kind != NodeType::Directory).then_some((0, inode.at.0));
    Node { kind, meta: inode.meta, size, target, device, shared, inode: Some(inode) }
}

fn of_host(path: &Path, found: &Metadata) -> Result<Node, Error> {
    let kind = kind_of(found).ok_or_else(|| {
        refused(path, "cannot compare", io::Error::new(io::ErrorKind::Unsupported, "unknown type of file"))
    })?;
    let target = match kind {
        NodeType::Symlink => {
            let target = fs::read_link(path).map_err(|cause| refused(path, "cannot read the link", cause))?;
            target.into_os_string().as_bytes().to_vec()
        }
        _ => Bytes::new(),
    };
    let number = Device { major: rustix::fs::major(found.rdev()), minor: rustix::fs::minor(found.rdev()) };
    let mode = (found.mode() & 0o7777) as u16;
    Ok(Node {
        kind,
        meta: Meta { mode, uid: found.uid(), gid: found.gid(), mtime: Time::of_metadata(found) },
        size: if kind == NodeType::File { found.len() } else { 0 },
        target,
        device: matches!(kind, NodeType::BlockDevice | NodeType::CharDevice).then_some(number),
        shared: (found.nlink() > 1 && kind != NodeType::Directory).then_some((found.dev(), found.ino())),
        inode: None,
    })
}

fn kind_of(found: &Metadata) -> Option<NodeType> {
    let kind = found.file_type();
    let kinds = [
        (kind.is_dir(), NodeType::Directory),
        (kind.is_file(), NodeType::File),
        (kind.is_symlink(), NodeType::Symlink),
        (kind.is_block_device(), NodeType::BlockDevice),
        (kind.is_char_device(), NodeType::CharDevice),
        (kind.is_fifo(), NodeType::Fifo),
        (kind.is_socket(), NodeType::Socket),
    ];
    kinds.iter().find(|(is, _)| *is).map(|(_, kind)| *kind)
}

fn names_in(directory: &Path) -> Result<Vec<Bytes>, Error> {
    let listed = fs::read_dir(directory).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().as_bytes().to_vec())).collect::<io::Result<Vec<Bytes>>>()
    });
    let mut names = listed.map_err(|cause| refused(directory, "cannot list", cause))?;
    names.sort_unstable();
    Ok(names)
}

fn host_xattrs(path: &Path) -> io::Result<Vec<Xattr>> {
    let mut names = vec![0; XATTR_MOST];
    let length = match rustix::fs::llistxattr(path, names.as_mut_slice()) {
        Err(rustix::io::Errno::NOTSUP) => 0,
        listed => listed?,
    };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| Ok(Xattr { name: name.to_vec(), value: host_xattr(path, name)? })).collect()
}

fn host_xattr(path: &Path, name: &[u8]) -> io::Result<Bytes> {
    let mut value = vec![0; XATTR_MOST];
    let length = rustix::fs::lgetxattr(path, name, value.as_mut_slice())?;
    value.truncate(length);
    Ok(value)
}
