//! Writes a modelled tree to a directory, with all attributes.

use crate::model::{Content, Node, NodeKind};
use rustix::fs::{AtFlags, CWD, Dev, FileType, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Creates every node below `root`, a directory that exists. Owners other than 0:0, devices and attributes other than `user.` need root; for
/// others a node of 0:0 belongs to them. Errors name the node.
pub fn plant(nodes: &[Node], root: &Path) -> Result<(), String> {
    let named = |node: &Node, cause: io::Error| format!("{}: {cause}", node.path.escape_ascii());
    for node in nodes {
        make(node, root).map_err(|cause| named(node, cause))?;
    }
    // Times are set last, and children before parents, because creating a child changes the time of its parent.
    for node in nodes.iter().rev().filter(|node| !matches!(node.kind, NodeKind::HardLink(_))) {
        set_attributes(node, root).map_err(|cause| named(node, cause))?;
    }
    Ok(())
}

/// The path of a node below `root`.
pub fn place(root: &Path, path: &[u8]) -> PathBuf {
    if path.is_empty() { root.to_path_buf() } else { root.join(OsStr::from_bytes(path)) }
}

fn make(node: &Node, root: &Path) -> io::Result<()> {
    let path = place(root, &node.path);
    match &node.kind {
        NodeKind::Dir if node.path.is_empty() => Ok(()),
        NodeKind::Dir => std::fs::create_dir(path),
        NodeKind::File(content) => fill(&File::create_new(path)?, content),
        NodeKind::Symlink(target) => std::os::unix::fs::symlink(OsStr::from_bytes(target), path),
        NodeKind::HardLink(target) => std::fs::hard_link(place(root, target), path),
        NodeKind::BlockDevice(major, minor) => {
            special(&path, FileType::BlockDevice, rustix::fs::makedev(*major, *minor))
        }
        NodeKind::CharDevice(major, minor) => {
            special(&path, FileType::CharacterDevice, rustix::fs::makedev(*major, *minor))
        }
        NodeKind::Fifo => special(&path, FileType::Fifo, 0),
        NodeKind::Socket => special(&path, FileType::Socket, 0),
    }
}

fn fill(file: &File, content: &Content) -> io::Result<()> {
    file.set_len(content.size)?;
    content.pieces.iter().try_for_each(|(offset, bytes)| file.write_all_at(bytes, *offset))
}

fn special(path: &Path, kind: FileType, device: Dev) -> io::Result<()> {
    Ok(rustix::fs::mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, device)?)
}

fn set_attributes(node: &Node, root: &Path) -> io::Result<()> {
    let path = place(root, &node.path);
    let owner = (Uid::from_raw(node.uid), Gid::from_raw(node.gid));
    // A node without an owner belongs to the user who plants it, unless that user is root.
    let is_root = rustix::process::geteuid().is_root();
    if is_root || (node.uid, node.gid) != (0, 0) {
        rustix::fs::chownat(CWD, &path, Some(owner.0), Some(owner.1), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    for (name, value) in &node.xattrs {
        rustix::fs::lsetxattr(&path, name.as_slice(), value, XattrFlags::empty())?;
    }
    // The mode is set after the owner, because a change of the owner clears set-uid.
    if !matches!(node.kind, NodeKind::Symlink(_)) {
        std::fs::set_permissions(&path, Permissions::from_mode(node.mode.into()))?;
    }
    let time = Timespec { tv_sec: node.mtime, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}
