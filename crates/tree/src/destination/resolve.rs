//! Follows symbolic links on a path, as if the destination were the root of the file system: an absolute target starts at the destination,
//! and `..` stops there.
//!
//! Each name is looked up in an open directory, and a link's target is followed by this module, not by the kernel. So no link leads out of the
//! destination, also where the system has no `openat2`, and while another process changes the tree.

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::directory::{Directory, FileId};
use super::refusal::{Refusal, Tried};
use crate::Bytes;
use crate::namespace::LINK_HOPS_MAX;

/// Maximum number of names in the targets of all links on one path. It bounds the cost of a path.
const TARGET_NAMES_MAX: usize = 1024;

/// What has a name.
enum Found {
    Directory(Directory),
    /// A symbolic link that may be followed, with its target.
    Link(Bytes),
    Nothing,
    /// A file, or a link that may not be followed.
    Other,
}

impl Directory {
    /// The path of the directory at the canonical path `path`, without symbolic links. Follows the links that `may_follow` accepts. Names of
    /// `path` that do not exist are kept.
    ///
    /// # Errors
    /// `ENOTDIR` for a file or another link on the path, `ENOENT` for a link to a path that does not exist, `ELOOP` for too many links; a system
    /// call fails.
    pub fn resolve(&self, path: &[u8], may_follow: &dyn Fn(FileId) -> bool) -> Result<Bytes, Refusal> {
        // The next name comes last.
        let mut rest: Vec<Bytes> = names(path).rev().collect();
        let mut resolved = Resolved { root: self, names: Vec::new(), current: None };
        // The names at the start of `rest` that belong to the path. The others came from targets.
        let mut own = rest.len();
        let mut hops = 0;
        let mut target_names = 0;
        while let Some(name) = rest.pop() {
            let is_own = rest.len() < own;
            own = own.min(rest.len());
            if name == b".." {
                resolved.leave();
                continue;
            }
            match resolved.look_up(&name, may_follow)? {
                Found::Directory(directory) => resolved.enter(name, directory),
                Found::Link(target) => {
                    hops += 1;
                    let before = rest.len();
                    rest.extend(names(&target).rev());
                    target_names += rest.len() - before;
                    if hops > LINK_HOPS_MAX || target_names > TARGET_NAMES_MAX {
                        return Err(Refusal::Os("cannot open", Errno::LOOP));
                    }
                    if target.starts_with(b"/") {
                        resolved = Resolved { root: self, names: Vec::new(), current: None };
                    }
                }
                Found::Nothing if is_own => {
                    resolved.names.push(name);
                    resolved.names.extend(rest.into_iter().rev());
                    break;
                }
                Found::Nothing => return Err(Refusal::Os("cannot open", Errno::NOENT)),
                Found::Other => return Err(Refusal::Os("cannot open", Errno::NOTDIR)),
            }
        }
        Ok(resolved.names.join(&b'/'))
    }
}

/// The names of a path or of a target. `.` has no effect.
fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = Bytes> + '_ {
    path.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b".")).map(<[u8]>::to_vec)
}

/// A directory that was reached.
struct Resolved<'d> {
    root: &'d Directory,
    names: Vec<Bytes>,
    /// The directory, if it is open.
    current: Option<Directory>,
}

impl Resolved<'_> {
    fn enter(&mut self, name: Bytes, directory: Directory) {
        self.names.push(name);
        self.current = Some(directory);
    }

    /// Goes to the parent by its path, because `..` of a directory that was moved may be outside the destination.
    fn leave(&mut self) {
        self.names.pop();
        self.current = None;
    }

    fn look_up(&mut self, name: &[u8], may_follow: &dyn Fn(FileId) -> bool) -> Result<Found, Refusal> {
        if self.current.is_none() && !self.names.is_empty() {
            let names: Vec<&[u8]> = self.names.iter().map(Vec::as_slice).collect();
            self.current = self.root.open_way(&names)?;
        }
        let directory = self.current.as_ref().unwrap_or(self.root);
        match directory.open(name) {
            Ok(found) => Ok(Found::Directory(found)),
            Err(Refusal::Os(_, Errno::NOENT)) => Ok(Found::Nothing),
            Err(Refusal::Os(_, Errno::NOTDIR | Errno::LOOP)) => link(directory, name, may_follow),
            Err(refusal) => Err(refusal),
        }
    }
}

/// The target of a link that may be followed.
fn link(directory: &Directory, name: &[u8], may_follow: &dyn Fn(FileId) -> bool) -> Result<Found, Refusal> {
    let stat = || rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).tried("cannot examine it");
    let before = stat()?;
    let is_link = FileType::from_raw_mode(before.st_mode) == FileType::Symlink;
    if !is_link || !may_follow(FileId::of(&before)) {
        return Ok(Found::Other);
    }
    let target = rustix::fs::readlinkat(directory, name, Vec::new()).tried("cannot read the link")?;
    // Another link may have replaced it in between.
    let is_same = FileId::of(&stat()?) == FileId::of(&before);
    Ok(if is_same { Found::Link(target.into_bytes()) } else { Found::Other })
}
