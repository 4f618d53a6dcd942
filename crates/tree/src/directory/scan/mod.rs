//! The walk: depth first, with a directory before its entries and names sorted by their bytes. Symbolic links are followed on
//! request (`frame.rs`).
//!
//! Every file is opened relative to its directory's descriptor. The walk keeps the names of the directories from the root to the
//! current one in memory. At most [`OPEN_DIRECTORIES`] of them are open. The directories above are opened again on the way back,
//! through `..`, and must still be the same directories.

mod frame;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::escape::Escape;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::directory::fault::{Fault, Tried};
use crate::directory::found::{FileLocation, ScannedEntry, at_flags};
use crate::directory::stat::{self, FileId};
use crate::directory::xattr::{XattrReader, join};
use crate::directory::{DirectoryOptions, MountPoints, NotFollowed, OPEN_DIRECTORIES, ReadErrors, Symlinks};
use crate::{Bytes, Entry, Error, Kind, PATH_MAX, Time};
use frame::{Frame, stat_at};
pub(super) use frame::{open_directory, open_root};

/// An entry before it is visited.
struct Examined {
    /// The directory that contains it.
    directory: Arc<OwnedFd>,
    /// The start of its name in its path.
    name_start: usize,
    /// The attributes of the entry, or of its target if `followed`.
    stat: Stat,
    followed: bool,
}

/// The first paths of files with several names.
#[derive(Default)]
struct Links {
    first: BTreeMap<FileId, Bytes>,
}

impl Links {
    /// The path at which the file was found before. If there is none, remembers `path`.
    fn meet(&mut self, id: FileId, path: &[u8]) -> Option<Bytes> {
        let known = self.first.get(&id).cloned();
        if known.is_none() {
            self.first.insert(id, path.to_vec());
        }
        known
    }

    /// Forgets a file that is skipped, so that its next name becomes the first.
    fn forget(&mut self, id: FileId) {
        self.first.remove(&id);
    }
}

/// A walk through a directory in the order of a [`crate::DirectorySource`]. The caller decides which directories are entered.
pub struct Scanner {
    pub(super) root: PathBuf,
    pub(super) options: DirectoryOptions,
    pub(super) stack: Vec<Frame>,
    pub(super) path: Bytes,
    links: Links,
    xattrs: XattrReader,
    /// The root's file system.
    device: u64,
    /// The root, until it is visited.
    start: Option<(OwnedFd, Stat)>,
    /// Errors after which the walk continued, as requested.
    pub(super) problems: Vec<Error>,
    /// Warnings about symbolic links that are not followed.
    pub(super) warnings: Vec<String>,
    /// Number of directories on the stack that were entered through a symbolic link, and number of entries below such
    /// directories.
    pub(super) entered: usize,
    pub(super) multiplied: u64,
}

impl Scanner {
    /// Opens the directory `root`, which may be a symbolic link.
    pub fn open(root: &Path, options: DirectoryOptions) -> Result<Self, Error> {
        let opened = open_root(root).and_then(|directory| {
            let stat = rustix::fs::fstat(&directory).tried("cannot examine")?;
            Ok((directory, stat))
        });
        let (directory, stat) = opened.map_err(|fault| fault.at(root))?;
        Ok(Self {
            root: root.to_owned(),
            options,
            stack: Vec::new(),
            path: Bytes::new(),
            links: Links::default(),
            xattrs: XattrReader::default(),
            device: stat.st_dev,
            start: Some((directory, stat)),
            problems: Vec::new(),
            warnings: Vec::new(),
            entered: 0,
            multiplied: 0,
        })
    }

    pub(crate) fn next(&mut self) -> Result<Option<ScannedEntry>, Error> {
        self.next_entering(&mut |_| true)
    }

    /// The next entry. A directory is opened and entered only if `enters` returns true for its path. The root is always entered.
    pub fn next_entering(&mut self, enters: &mut dyn FnMut(&[u8]) -> bool) -> Result<Option<ScannedEntry>, Error> {
        self.step(enters).map_err(|fault| fault.at(&join(&self.root, &self.path)))
    }

    /// The next entry with its extended attributes.
    pub(crate) fn next_complete(&mut self) -> Result<Option<ScannedEntry>, Error> {
        let Some(mut found) = self.next()? else { return Ok(None) };
        found.read_xattrs(&mut self.xattrs, &self.root).map_err(|fault| fault.at(&join(&self.root, &self.path)))?;
        Ok(Some(found))
    }

    /// Like [`Scanner::next_complete`], but counts the size of files of /proc with a reported size of 0. Opens each empty file.
    pub(crate) fn next_measured(&mut self) -> Result<Option<ScannedEntry>, Error> {
        let Some(mut found) = self.next_complete()? else { return Ok(None) };
        if found.size() == Some(0) {
            let measured = found.open().and_then(|file| found.measure(&file));
            measured.map_err(|fault| fault.at(&join(&self.root, &self.path)))?;
        }
        Ok(Some(found))
    }

    fn step(&mut self, enters: &mut dyn FnMut(&[u8]) -> bool) -> Result<Option<ScannedEntry>, Fault> {
        if let Some((directory, stat)) = self.start.take() {
            return self.enter(directory, &stat, false).map(Some);
        }
        while self.advance()? {
            self.count_multiplied()?;
            if self.options.passes_over(&self.path) {
                log::debug!("{}: skipped, because it is not among the requested entries", self.path.escaped());
                continue;
            }
            // The entry is examined before the patterns are compared only if they need its kind: an entry that is skipped need
            // not be accessible.
            let early = self.options.excludes.distinguish_directories().then(|| self.examine());
            let directory = matches!(&early, Some(Ok(Some(Examined { stat, .. }))) if is_directory(stat));
            if self.options.excludes(&self.path, directory) {
                log::debug!("{}: skipped, because a pattern excludes it", self.path.escaped());
                continue;
            }
            let examined = early.unwrap_or_else(|| self.examine());
            let visited =
                examined.and_then(|examined| examined.map_or(Ok(None), |examined| self.visit(examined, enters)));
            match visited {
                Ok(None) => {}
                Err(fault) => self.pass(fault)?,
                found => return found,
            }
        }
        Ok(None)
    }

    /// Records a fault of the entry at `path`, if the walk must continue after faults.
    fn pass(&mut self, fault: Fault) -> Result<(), Fault> {
        if self.options.errors == ReadErrors::Fail || fault.is_lack() {
            return Err(fault);
        }
        self.problems.push(fault.at(&join(&self.root, &self.path)));
        Ok(())
    }

    /// The value, or the default after a fault that is recorded.
    fn or_pass<T: Default>(&mut self, found: Result<T, Fault>) -> Result<T, Fault> {
        found.or_else(|fault| self.pass(fault).map(|()| T::default()))
    }

    /// Examines the entry at `path`. `None` if it is a symbolic link that cannot be followed and is skipped.
    fn examine(&mut self) -> Result<Option<Examined>, Fault> {
        let top = self.stack.last_mut().ok_or(Fault::Replaced)?;
        let name_start = if top.path_length == 0 { 0 } else { top.path_length + 1 };
        let directory = Arc::clone(top.directory(None)?);
        let stat = stat_at(&directory, &self.path[name_start..], false)?;
        let link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        Ok(match self.options.symlinks {
            Symlinks::Followed(otherwise) if link => match self.follow(&directory, name_start) {
                Some(stat) => Some(Examined { directory, name_start, stat, followed: true }),
                None if otherwise == NotFollowed::LeftOut => None,
                None => Some(Examined { directory, name_start, stat, followed: false }),
            },
            _ => Some(Examined { directory, name_start, stat, followed: false }),
        })
    }

    /// Puts the next path into `path`. Returns false if there is none.
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
        let followed = below.as_ref().is_some_and(|below| below.followed);
        self.entered -= usize::from(followed);
        let Some(top) = self.stack.last_mut() else { return Ok(()) };
        if followed {
            top.open_again(&join(&self.root, &self.path[..top.path_length]))?;
        }
        top.directory(below.as_ref()).map(drop)
    }

    fn visit(
        &mut self,
        examined: Examined,
        enters: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<ScannedEntry>, Fault> {
        let Examined { directory, name_start, stat, followed } = &examined;
        let name = &self.path[*name_start..];
        if self.skips(stat) {
            return Ok(None);
        }
        if is_directory(stat) && enters(&self.path) {
            let opened = open_directory(directory, name, *followed);
            match opened.map_err(|fault| turned(fault, directory, name, *followed, stat)) {
                Ok(opened) => return self.enter_found(opened, stat, *followed).map(Some),
                Err(fault) if self.options.errors == ReadErrors::EmptyFile => return self.pass(fault).map(|()| None),
                // The directory is kept without its entries.
                Err(fault @ Fault::Os(_, errno)) if errno != Errno::NOENT => self.pass(fault)?,
                Err(fault) => return Err(fault),
            }
        }
        self.found(examined).map(Some)
    }

    /// Whether the entry is skipped because of its inode number, or because it is on another file system.
    fn skips(&self, stat: &Stat) -> bool {
        if self.options.without_inodes.contains(&stat::id(stat)) {
            return true;
        }
        match self.options.mount_points {
            MountPoints::Enter => false,
            MountPoints::Empty => stat.st_dev != self.device && !is_directory(stat),
            MountPoints::Skip => stat.st_dev != self.device,
        }
    }

    /// Enters a directory, which must be the one that was examined.
    fn enter_found(&mut self, directory: OwnedFd, before: &Stat, followed: bool) -> Result<ScannedEntry, Fault> {
        let stat = rustix::fs::fstat(&directory).tried("cannot examine")?;
        if stat::id(&stat) != stat::id(before) {
            return Err(Fault::Replaced);
        }
        self.enter(directory, &stat, followed)
    }

    fn enter(&mut self, directory: OwnedFd, stat: &Stat, followed: bool) -> Result<ScannedEntry, Fault> {
        if self.path.len() > PATH_MAX {
            return Err(Fault::Os("cannot list", Errno::NAMETOOLONG));
        }
        let xattrs = if self.options.xattrs { self.xattrs.open(&directory) } else { Ok(Vec::new()) };
        let xattrs = self.or_pass(xattrs)?;
        let entry = Entry { path: self.path.clone(), kind: Kind::Dir, meta: stat::meta(stat), xattrs };
        let foreign = self.options.mount_points == MountPoints::Empty && stat.st_dev != self.device;
        let length = self.path.len();
        let mut frame = Frame::empty(directory, stat, length);
        frame.followed = followed;
        self.entered += usize::from(followed);
        if !foreign {
            let listed = frame.list();
            self.or_pass(listed)?;
        }
        self.push(frame);
        Ok(ScannedEntry::new(entry, FileLocation::Nowhere))
    }

    fn push(&mut self, frame: Frame) {
        self.stack.push(frame);
        if let Some(far) = self.stack.len().checked_sub(OPEN_DIRECTORIES + 1) {
            self.stack[far].close();
        }
    }

    /// An entry that is not a directory to enter.
    fn found(&mut self, examined: Examined) -> Result<ScannedEntry, Fault> {
        let Examined { directory, name_start, stat, followed } = examined;
        // A link may lead to any file of the tree.
        let named_again = stat.st_nlink > 1 || self.options.symlinks != Symlinks::Kept;
        let shared = named_again && !is_directory(&stat);
        let file = stat::id(&stat);
        let first = if shared && self.options.hard_links { self.links.meet(file, &self.path) } else { None };
        let kind = match first {
            Some(first) => Kind::HardLink(first),
            None => read_kind(&directory, &self.path[name_start..], &stat).inspect_err(|_| self.links.forget(file))?,
        };
        let again = matches!(kind, Kind::HardLink(_));
        let entry = Entry { path: self.path.clone(), kind, meta: stat::meta(&stat), xattrs: Vec::new() };
        let location = if again { FileLocation::Nowhere } else { FileLocation::In { directory, followed } };
        let id = Some(file);
        let sparse = stat::is_sparse(&stat);
        let modified = Some(Time::of_stat(&stat));
        let wants_xattrs = self.options.xattrs && !again;
        Ok(ScannedEntry { id, shared, sparse, wants_xattrs, modified, ..ScannedEntry::new(entry, location) })
    }
}

pub(super) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn read_kind(directory: &OwnedFd, name: &[u8], stat: &Stat) -> Result<Kind, Fault> {
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        let target = rustix::fs::readlinkat(directory, name, Vec::new()).tried("cannot read the symbolic link");
        return match target {
            Ok(target) => Ok(Kind::Symlink(target.into_bytes())),
            Err(fault) => Err(turned(fault, directory, name, false, stat)),
        };
    }
    stat::kind(stat).ok_or(Fault::Type(stat.st_mode))
}

/// The fault of a file that was listed: the change of its kind, if that is the cause.
fn turned(fault: Fault, directory: &OwnedFd, name: &[u8], followed: bool, listed: &Stat) -> Fault {
    let now = rustix::fs::statat(directory, name, at_flags(followed));
    fault.unless_turned(FileType::from_raw_mode(listed.st_mode), now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("b/c/d")).unwrap();
        fs::write(at("b/c/z"), "zz").unwrap();
        fs::write(at("b.x"), "").unwrap();
        std::os::unix::fs::symlink("b/c", at("a")).unwrap();
        fs::hard_link(at("b/c/z"), at("b/y")).unwrap();
        folder
    }

    fn entries(base: &Path, enters: fn(&[u8]) -> bool) -> Vec<ScannedEntry> {
        let mut scan = Scanner::open(base, DirectoryOptions { hard_links: false, ..Default::default() }).unwrap();
        assert_eq!(scan.next().unwrap().unwrap().entry.path, b"");
        std::iter::from_fn(|| scan.next_entering(&mut |path| enters(path)).unwrap()).collect()
    }

    fn paths(base: &Path, enters: fn(&[u8]) -> bool) -> Vec<String> {
        let paths = entries(base, enters).into_iter().map(|found| String::from_utf8(found.entry.path).unwrap());
        paths.collect()
    }

    #[test]
    fn directories_come_before_what_is_in_them() {
        let folder = tree();
        assert_eq!(paths(folder.path(), |_| true), ["a", "b", "b/c", "b/c/d", "b/c/z", "b/y", "b.x"]);
        assert_eq!(paths(folder.path(), |path| path != b"b/c"), ["a", "b", "b/c", "b/y", "b.x"]);
        assert_eq!(paths(folder.path(), |_| false), ["a", "b", "b.x"]);
        assert_eq!(paths(&folder.path().join("a"), |_| true), ["d", "z"]);
    }

    #[test]
    fn kinds_and_shared_inodes_are_seen() {
        let folder = tree();
        let found = entries(folder.path(), |_| true);
        assert_eq!(found[0].entry.kind, Kind::Symlink(b"b/c".into()));
        assert_eq!(found[1].entry.kind, Kind::Dir);
        assert_eq!(found[4].entry.kind, Kind::File { size: 2 });
        assert!(found[4].shared && found[5].shared && found[4].id == found[5].id);
        assert!(!found[6].shared);
    }

    #[test]
    fn rejects_files_that_are_not_directories() {
        let folder = tree();
        for name in ["b.x", "none"] {
            let Err(error) = Scanner::open(&folder.path().join(name), DirectoryOptions::default()) else {
                panic!("{name}")
            };
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
