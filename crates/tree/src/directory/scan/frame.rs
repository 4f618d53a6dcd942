//! An open directory of the walk: its sorted names, and the number of visited names.
//!
//! The walk follows symbolic links where asked. The directories from the root to a link are known, and a link to one of them is not
//! followed, so the walk always ends. Links between neighbouring directories can still multiply the entries, so entries below links are
//! counted.

use super::{Scanner, is_directory};
use crate::directory::fault::{Fault, Tried};
use crate::directory::found::at_flags;
use crate::directory::stat::{self, FileId, id};
use crate::directory::xattr::join;
use crate::directory::{FOLLOWED_MOST, NotFollowed, Symlinks};
use packline_runtime::escape::Escape;
use rustix::fs::{CWD, Mode, OFlags, RawDir, Stat};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes requested from the system at a time when a directory is listed.
const LIST_BYTES: usize = 32 << 10;

pub(in crate::directory) struct Frame {
    /// Closed while the walk is far below, see [`Frame::close`]. Shared with files that wait to be read.
    directory: Option<Arc<OwnedFd>>,
    pub id: FileId,
    /// The directory was entered through a symbolic link, so its `..` is not the directory that contains the link.
    pub followed: bool,
    /// Names, each followed by a zero byte.
    names: Vec<u8>,
    /// Start of each name, sorted by the names.
    order: Vec<usize>,
    next: usize,
    /// Length of this directory's path.
    pub path_length: usize,
}

impl Frame {
    /// A directory that is not listed yet, with a path of `path_length` bytes.
    pub fn empty(directory: OwnedFd, stat: &Stat, path_length: usize) -> Self {
        let directory = Some(Arc::new(directory));
        Self { directory, id: id(stat), followed: false, names: Vec::new(), order: Vec::new(), next: 0, path_length }
    }

    /// Lists the directory. After a fault it has no names.
    pub fn list(&mut self) -> Result<(), Fault> {
        let mut names = Vec::new();
        let mut order = Vec::new();
        let directory = self.directory.as_ref().ok_or(Fault::Replaced)?;
        read_names(directory, &mut names, &mut order).tried("cannot list")?;
        order.sort_unstable_by(|&a, &b| name_at(&names, a).cmp(name_at(&names, b)));
        self.names = names;
        self.order = order;
        Ok(())
    }

    /// Appends the next name to `path`. Returns false after the last.
    pub fn next_name(&mut self, path: &mut Vec<u8>) -> bool {
        let Some(&start) = self.order.get(self.next) else { return false };
        self.next += 1;
        path.extend_from_slice(name_at(&self.names, start));
        true
    }

    /// Closes the descriptor, because a walk may be deeper than the limit of open files.
    pub fn close(&mut self) {
        self.directory = None;
    }

    /// Opens the directory again by its path on this machine, if it was closed.
    pub fn open_again(&mut self, path: &Path) -> Result<(), Fault> {
        if self.directory.is_none() {
            let opened = open_root(path)?;
            let stat = rustix::fs::fstat(&opened).tried("cannot open again")?;
            self.directory = Some(Arc::new(if id(&stat) == self.id { opened } else { return Err(Fault::Replaced) }));
        }
        Ok(())
    }

    /// The directory. If it was closed, it is opened again from a directory in it.
    pub fn directory(&mut self, below: Option<&Frame>) -> Result<&Arc<OwnedFd>, Fault> {
        if self.directory.is_none() {
            let child = below.and_then(|below| below.directory.as_ref()).ok_or(Fault::Replaced)?;
            self.directory = Some(Arc::new(reopen(child, self.id)?));
        }
        self.directory.as_ref().ok_or(Fault::Replaced)
    }
}

fn reopen(child: &OwnedFd, id_before: FileId) -> Result<OwnedFd, Fault> {
    let parent = open_directory(child, b"..", false)?;
    let stat = rustix::fs::fstat(&parent).tried("cannot open again")?;
    if id(&stat) == id_before { Ok(parent) } else { Err(Fault::Replaced) }
}

/// Opens the directory `name` in another directory. Follows a symbolic link only if `followed`.
pub(in crate::directory) fn open_directory(parent: impl AsFd, name: &[u8], followed: bool) -> Result<OwnedFd, Fault> {
    let nofollow = if followed { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | nofollow | OFlags::CLOEXEC;
    rustix::io::retry_on_intr(|| rustix::fs::openat(&parent, name, flags, Mode::empty())).tried("cannot open")
}

/// Opens the directory at a path of this machine. The path may be a symbolic link.
pub(in crate::directory) fn open_root(root: &Path) -> Result<OwnedFd, Fault> {
    open_directory(CWD, root.as_os_str().as_bytes(), true)
}

fn name_at(names: &[u8], start: usize) -> &[u8] {
    let rest = &names[start..];
    &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
}

fn read_names(directory: &OwnedFd, names: &mut Vec<u8>, order: &mut Vec<usize>) -> rustix::io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); LIST_BYTES];
    let mut list = RawDir::new(directory, &mut buffer);
    while let Some(entry) = list.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes_with_nul();
        if name != b".\0" && name != b"..\0" {
            order.push(names.len());
            names.extend_from_slice(name);
        }
    }
    Ok(())
}

impl Scanner {
    /// The attributes of the target of the symbolic link at `path`. `None`, with a warning, if it cannot be followed.
    pub(super) fn follow(&mut self, directory: &OwnedFd, name_start: usize) -> Option<Stat> {
        let found = match self.entered {
            0 => stat_at(directory, &self.path[name_start..], true),
            // By its path, because the system limits the number of links in a path, in whatever way it is opened later.
            _ => rustix::fs::stat(join(&self.root, &self.path)).tried("cannot examine"),
        };
        let why = match found {
            Ok(stat) if is_directory(&stat) && self.is_in(stat::id(&stat)) => {
                "it leads to a directory that it is in".into()
            }
            Ok(stat) => return Some(stat),
            Err(Fault::Os(_, errno)) => std::io::Error::from(errno).to_string(),
            Err(_) => "it cannot be examined".into(),
        };
        let kept = self.options.symlinks == Symlinks::Followed(NotFollowed::Kept);
        let end = if kept { "kept as a symbolic link" } else { "left out" };
        let link = join(&self.root, &self.path).escaped();
        self.warnings.push(format!("{link}: cannot follow the symbolic link: {why}; {end}"));
        None
    }

    /// Whether the entry at `path` is in a directory.
    fn is_in(&self, directory: stat::FileId) -> bool {
        self.options.above.contains(&directory) || self.stack.iter().any(|frame| frame.id == directory)
    }

    /// Counts the entry at `path`, if it is below a link.
    pub(super) fn count_multiplied(&mut self) -> Result<(), Fault> {
        self.multiplied += u64::from(self.entered > 0);
        if self.multiplied > FOLLOWED_MOST { Err(Fault::Multiplied) } else { Ok(()) }
    }
}

/// The attributes of `name` in a directory. If it is a symbolic link and `followed`, the attributes of its target.
pub(super) fn stat_at(directory: impl AsFd, name: &[u8], followed: bool) -> Result<Stat, Fault> {
    rustix::fs::statat(directory, name, at_flags(followed)).tried("cannot examine")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirectoryOptions;

    /// Seven directories, each with links to the six others: 13,699 paths that enter no directory twice.
    #[test]
    fn rejects_links_that_multiply_the_entries() {
        let temp = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        for name in names {
            std::fs::create_dir(temp.path().join(name)).unwrap();
            for other in names {
                std::os::unix::fs::symlink(format!("../{other}"), temp.path().join(name).join(other)).unwrap();
            }
        }
        let options = DirectoryOptions { symlinks: Symlinks::Followed(NotFollowed::LeftOut), ..Default::default() };
        let walk = |multiplied: u64| {
            let mut scanner = Scanner::open(temp.path(), options.clone()).unwrap();
            scanner.multiplied = multiplied;
            let mut count = 0;
            while scanner.next().map_err(|error| error.to_string())?.is_some() {
                count += 1;
            }
            Ok::<_, String>(count)
        };
        assert_eq!(walk(0), Ok(1 + 13_699));
        assert!(walk(FOLLOWED_MOST - 10_000).unwrap_err().contains("entries are below links to directories"));
    }
}
