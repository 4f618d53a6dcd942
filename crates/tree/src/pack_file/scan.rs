//! A walk over a directory of the host in canonical order, without contents.

use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::{Bytes, Device, Error, Kind, Meta};

/// An entry found, and its paths.
pub(super) struct Found {
    /// Canonical path below the directory scanned.
    pub relative: Bytes,
    /// Path on the host.
    pub host: PathBuf,
    pub kind: Kind,
    pub meta: Meta,
    /// Device and inode number, if it has several names.
    pub shared: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ScanOptions {
    /// Whether mount points and everything below them are skipped.
    pub one_file_system: bool,
    /// Whether directories are descended into.
    pub recurse: bool,
}

/// A walk: each directory before its entries, names in order.
pub(super) struct Scan {
    options: ScanOptions,
    base: PathBuf,
    /// The directories from the root to the current one.
    levels: Vec<Level>,
    /// The last directory returned, entered by the next step unless it is skipped.
    pending: Option<Level>,
}

struct Level {
    relative: Bytes,
    device: u64,
    /// Names not yet visited, the next one last.
    names: Vec<Bytes>,
}

impl Scan {
    /// Starts below `base`, which is a directory or a symbolic link to one.
    ///
    /// # Errors
    /// [`Error::Io`] if it is not, or cannot be listed.
    pub fn new(base: &Path, options: ScanOptions) -> Result<Scan, Error> {
        let stat = fs::metadata(base).map_err(|cause| failed(base, "cannot open", cause))?;
        let names = list(base)?;
        let level = Level { relative: Bytes::new(), device: stat.dev(), names };
        Ok(Scan { options, base: base.to_owned(), levels: vec![level], pending: None })
    }

    /// The next entry, or `None` after the last.
    ///
    /// # Errors
    /// [`Error::Io`] if an entry cannot be listed or examined.
    pub fn next(&mut self) -> Result<Option<Found>, Error> {
        self.enter_pending()?;
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(name) = level.names.pop() else {
                self.levels.pop();
                continue;
            };
            let relative = join(&level.relative, &name);
            let device = level.device;
            if let Some(found) = self.look(relative, device)? {
                return Ok(Some(found));
            }
        }
    }

    /// Skips the content of the last directory returned.
    pub fn skip(&mut self) {
        self.pending = None;
    }

    fn enter_pending(&mut self) -> Result<(), Error> {
        if let Some(mut level) = self.pending.take() {
            level.names = list(&self.host(&level.relative))?;
            self.levels.push(level);
        }
        Ok(())
    }

    fn look(&mut self, relative: Bytes, device: u64) -> Result<Option<Found>, Error> {
        let host = self.host(&relative);
        let stat = fs::symlink_metadata(&host).map_err(|cause| failed(&host, "cannot look at", cause))?;
        if self.options.one_file_system && stat.dev() != device {
            return Ok(None);
        }
        if stat.is_dir() && self.options.recurse {
            self.pending = Some(Level { relative: relative.clone(), device: stat.dev(), names: Vec::new() });
        }
        let shared = (!stat.is_dir() && stat.nlink() > 1).then(|| (stat.dev(), stat.ino()));
        Ok(Some(Found { kind: kind(&host, &stat)?, meta: meta(&stat), relative, host, shared }))
    }

    fn host(&self, relative: &[u8]) -> PathBuf {
        self.base.join(std::ffi::OsStr::from_bytes(relative))
    }
}

/// The names in a directory in descending order.
fn list(directory: &Path) -> Result<Vec<Bytes>, Error> {
    let refused = |cause| failed(directory, "cannot list", cause);
    let entries = fs::read_dir(directory).map_err(refused)?;
    let names: Result<Vec<Bytes>, _> = entries.map(|entry| entry.map(|entry| entry.file_name().into_vec())).collect();
    let mut names = names.map_err(refused)?;
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names)
}

fn kind(host: &Path, stat: &Metadata) -> Result<Kind, Error> {
    let device = Device { major: rustix::fs::major(stat.rdev()), minor: rustix::fs::minor(stat.rdev()) };
    let file_type = stat.file_type();
    Ok(match () {
        () if file_type.is_file() => Kind::File { size: stat.len() },
        () if file_type.is_dir() => Kind::Dir,
        () if file_type.is_symlink() => Kind::Symlink(target(host)?),
        () if file_type.is_block_device() => Kind::BlockDevice(device),
        () if file_type.is_char_device() => Kind::CharDevice(device),
        () if file_type.is_fifo() => Kind::Fifo,
        () if file_type.is_socket() => Kind::Socket,
        () => return Err(failed(host, "cannot pack", std::io::Error::other("a file of an unknown type"))),
    })
}

fn target(host: &Path) -> Result<Bytes, Error> {
    let target = fs::read_link(host).map_err(|cause| failed(host, "cannot read the link", cause))?;
    Ok(target.into_os_string().into_vec())
}

fn meta(stat: &Metadata) -> Meta {
    Meta { mode: (stat.mode() & 0o7777) as u16, uid: stat.uid(), gid: stat.gid(), mtime: stat.mtime() }
}

fn join(directory: &[u8], name: &[u8]) -> Bytes {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

fn failed(path: &Path, action: &'static str, cause: std::io::Error) -> Error {
    Error::Io { path: path.to_owned(), action, cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ScanOptions = ScanOptions { one_file_system: true, recurse: true };

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

    fn paths(base: &Path, options: ScanOptions, skip: &str) -> Vec<String> {
        let mut scan = Scan::new(base, options).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = scan.next().unwrap() {
            let path = String::from_utf8(entry.relative).unwrap();
            if path == skip {
                scan.skip();
            }
            found.push(path);
        }
        found
    }

    #[test]
    fn directories_come_before_what_is_in_them() {
        let folder = tree();
        assert_eq!(paths(folder.path(), ALL, ""), ["a", "b", "b/c", "b/c/d", "b/c/z", "b/y", "b.x"]);
        assert_eq!(paths(folder.path(), ALL, "b/c"), ["a", "b", "b/c", "b/y", "b.x"]);
        assert_eq!(paths(folder.path(), ScanOptions { recurse: false, ..ALL }, ""), ["a", "b", "b.x"]);
        assert_eq!(paths(&folder.path().join("a"), ALL, ""), ["d", "z"]);
    }

    #[test]
    fn kinds_and_shared_inodes_are_seen() {
        let folder = tree();
        let mut scan = Scan::new(folder.path(), ALL).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = scan.next().unwrap() {
            found.push(entry);
        }
        assert_eq!(found[0].kind, Kind::Symlink(b"b/c".into()));
        assert_eq!(found[1].kind, Kind::Dir);
        assert_eq!(found[4].kind, Kind::File { size: 2 });
        assert!(found[4].shared.is_some() && found[4].shared == found[5].shared);
        assert_eq!(found[6].shared, None);
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let folder = tree();
        for name in ["b.x", "none"] {
            let Err(error) = Scan::new(&folder.path().join(name), ALL) else { panic!("{name}") };
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
