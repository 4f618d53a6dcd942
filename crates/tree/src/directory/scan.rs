//! The walk: depth first, a directory before what is in it, names sorted by their bytes; symbolic links are never followed.
//!
//! Everything is opened relative to its directory's descriptor. Memory: the names of the directories on the way down. At
//! most [`OPEN_DIRECTORIES`] of them are open; those above are opened again on the way back, through `..`, and must then
//! be the same directories still.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};

use super::fault::{Fault, Tried};
use super::found::{Found, Place};
use super::frame::{Frame, open_directory, stat_at};
use super::links::Links;
use super::stat;
use super::xattr::{XattrReader, join};
use super::{DirectoryOptions, MountPoints};
use crate::{Bytes, Entry, Error, Kind, PATH_MAX};

/// How many directories on the way down are kept open.
const OPEN_DIRECTORIES: usize = 64;

/// The directory that an entry is in, where its name starts in its path, and its attributes.
type Examined = (Arc<OwnedFd>, usize, Stat);

/// A walk under way.
pub(crate) struct Scanner {
    root: PathBuf,
    options: DirectoryOptions,
    stack: Vec<Frame>,
    path: Bytes,
    links: Links,
    xattrs: XattrReader,
    /// The root's file system.
    device: u64,
    /// The root while it has not been visited.
    start: Option<(OwnedFd, Stat)>,
}

impl Scanner {
    /// Opens the directory `root`; it may be given as a symbolic link.
    pub fn open(root: &Path, options: DirectoryOptions) -> Result<Self, Error> {
        let (directory, stat) = open_root(root).map_err(|fault| fault.at(root))?;
        Ok(Self {
            root: root.to_owned(),
            options,
            stack: Vec::new(),
            path: Bytes::new(),
            links: Links::default(),
            xattrs: XattrReader::default(),
            device: stat.st_dev,
            start: Some((directory, stat)),
        })
    }

    pub fn next(&mut self) -> Result<Option<Found>, Error> {
        self.step().map_err(|fault| fault.at(&join(&self.root, &self.path)))
    }

    /// The next with its extended attributes.
    pub fn next_complete(&mut self) -> Result<Option<Found>, Error> {
        let Some(mut found) = self.next()? else { return Ok(None) };
        found.read_xattrs(&mut self.xattrs, &self.root).map_err(|fault| fault.at(&join(&self.root, &self.path)))?;
        Ok(Some(found))
    }

    fn step(&mut self) -> Result<Option<Found>, Fault> {
        if let Some((directory, stat)) = self.start.take() {
            return self.enter(directory, &stat).map(Some);
        }
        while self.advance()? {
            if self.options.passes_over(&self.path) {
                continue;
            }
            // Examined before the patterns are compared only if they need it: an entry that is left out need not be accessible.
            let early = self.options.excludes.distinguish_directories().then(|| self.examine());
            let directory = matches!(&early, Some(Ok((_, _, stat))) if is_directory(stat));
            if self.options.excludes.matches(&self.path, directory) {
                continue;
            }
            let examined = early.unwrap_or_else(|| self.examine())?;
            if let Some(found) = self.visit(examined)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Examines the entry at `path`.
    fn examine(&mut self) -> Result<Examined, Fault> {
        let top = self.stack.last_mut().ok_or(Fault::Replaced)?;
        let start = if top.path_length == 0 { 0 } else { top.path_length + 1 };
        let directory = Arc::clone(top.directory(None)?);
        let stat = stat_at(&directory, &self.path[start..])?;
        Ok((directory, start, stat))
    }

    /// Puts the next path in `path`; false when there is none.
    fn advance(&mut self) -> Result<bool, Fault> {
        while let Some(top) = self.stack.last_mut() {
            self.path.truncate(top.path_length);
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            if top.next_name(&mut self.path) {
                return Ok(true);
            }
            self.path.truncate(top.path_length);
            self.leave()?;
        }
        Ok(false)
    }

    fn leave(&mut self) -> Result<(), Fault> {
        let below = self.stack.pop();
        match self.stack.last_mut() {
            Some(top) => top.directory(below.as_ref()).map(drop),
            None => Ok(()),
        }
    }

    fn visit(&mut self, (directory, start, stat): Examined) -> Result<Option<Found>, Fault> {
        if self.skips(&stat) {
            return Ok(None);
        }
        if is_directory(&stat) {
            let opened = open_directory(&directory, &self.path[start..]);
            let opened = opened.map_err(|fault| turned(fault, &directory, &self.path[start..], &stat))?;
            return self.enter_found(opened, &stat).map(Some);
        }
        self.found(directory, start, &stat).map(Some)
    }

    /// Whether it is left out as part of another file system.
    fn skips(&self, stat: &Stat) -> bool {
        match self.options.mount_points {
            MountPoints::Enter => false,
            MountPoints::Empty => stat.st_dev != self.device && !is_directory(stat),
            MountPoints::Skip => stat.st_dev != self.device,
        }
    }

    /// Enters a directory that must be the one that was examined.
    fn enter_found(&mut self, directory: OwnedFd, before: &Stat) -> Result<Found, Fault> {
        let stat = rustix::fs::fstat(&directory).tried("cannot examine")?;
        if stat::id(&stat) != stat::id(before) {
            return Err(Fault::Replaced);
        }
        self.enter(directory, &stat)
    }

    fn enter(&mut self, directory: OwnedFd, stat: &Stat) -> Result<Found, Fault> {
        if self.path.len() > PATH_MAX {
            return Err(Fault::Os("cannot list", rustix::io::Errno::NAMETOOLONG));
        }
        let xattrs = if self.options.xattrs { self.xattrs.open(&directory)? } else { Vec::new() };
        let entry = Entry { path: self.path.clone(), kind: Kind::Dir, meta: stat::meta(stat), xattrs };
        let foreign = self.options.mount_points == MountPoints::Empty && stat.st_dev != self.device;
        let length = self.path.len();
        self.push(if foreign { Frame::empty(directory, stat, length) } else { Frame::list(directory, stat, length)? });
        Ok(Found { entry, place: Place::Nowhere, id: None, sparse: false, wants_xattrs: false })
    }

    fn push(&mut self, frame: Frame) {
        self.stack.push(frame);
        if let Some(far) = self.stack.len().checked_sub(OPEN_DIRECTORIES + 1) {
            self.stack[far].close();
        }
    }

    /// Anything but a directory.
    fn found(&mut self, directory: Arc<OwnedFd>, name_start: usize, stat: &Stat) -> Result<Found, Fault> {
        let kind = match self.first_path(stat) {
            Some(first) => Kind::HardLink(first),
            None => read_kind(&directory, &self.path[name_start..], stat)?,
        };
        let again = matches!(kind, Kind::HardLink(_));
        let entry = Entry { path: self.path.clone(), kind, meta: stat::meta(stat), xattrs: Vec::new() };
        let place = if again { Place::Nowhere } else { Place::In(directory) };
        let (id, sparse) = (Some(stat::id(stat)), stat::is_sparse(stat));
        Ok(Found { entry, place, id, sparse, wants_xattrs: self.options.xattrs && !again })
    }

    fn first_path(&mut self, stat: &Stat) -> Option<Bytes> {
        let several = self.options.hard_links && stat.st_nlink > 1;
        if several { self.links.meet(stat::id(stat), &self.path) } else { None }
    }
}

fn open_root(root: &Path) -> Result<(OwnedFd, Stat), Fault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(CWD, root, flags, Mode::empty());
    let directory = rustix::io::retry_on_intr(open).tried("cannot open")?;
    let stat = rustix::fs::fstat(&directory).tried("cannot examine")?;
    Ok((directory, stat))
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn read_kind(directory: &OwnedFd, name: &[u8], stat: &Stat) -> Result<Kind, Fault> {
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        let target = rustix::fs::readlinkat(directory, name, Vec::new()).tried("cannot read the symbolic link");
        return match target {
            Ok(target) => Ok(Kind::Symlink(target.into_bytes())),
            Err(fault) => Err(turned(fault, directory, name, stat)),
        };
    }
    stat::kind(stat).ok_or(Fault::Type(stat.st_mode))
}

/// A fault with what was listed: that it is of another kind now, if that is the cause.
fn turned(fault: Fault, directory: &OwnedFd, name: &[u8], listed: &Stat) -> Fault {
    let now = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    fault.unless_turned(FileType::from_raw_mode(listed.st_mode), now)
}
