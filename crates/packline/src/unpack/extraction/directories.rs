//! The directories of a tar: the current one, missing ones, and links to directories.
//!
//! As `packline pack`, an entry below a symbolic link of the tar goes to the directory that the link leads to: layers of systems whose `lib` is a link
//! to `usr/lib` have such entries. From there on the entry has the path without links. Links that the destination had before are not followed.

use std::io;

use packline_tree::Entry;
use packline_tree::destination::{DestinationNode, Directory, Refusal, WritableDirectory};
use packline_tree::{Bytes, LINK_HOPS_MAX};
use rustix::io::Errno;

use super::{Extraction, IMPLIED_MODE, split};
use crate::error::Error;

/// Maximum number of symbolic links that are followed: 32 MiB of memory. Links after them are not followed.
const SYMLINKS_MOST: usize = 1 << 20;

impl Extraction {
    pub(super) fn directory(&mut self, entry: &Entry) -> Result<(), Error> {
        self.counts.entries += u64::from(!entry.path.is_empty());
        let path = self.replace_by_directory(&entry.path)?;
        self.enter(&path)?;
        self.extended.remove(&path);
        let xattrs: usize = entry.xattrs.iter().map(|xattr| xattr.name.len() + xattr.value.len()).sum();
        self.keep(path.len() + xattrs)?;
        self.directories.insert(path, (entry.meta, entry.xattrs.clone()));
        Ok(())
    }

    /// Removes what has the name of a directory and is none. Returns the directory's path without links.
    fn replace_by_directory(&mut self, path: &Bytes) -> Result<Bytes, Error> {
        match self.open(path) {
            Err(refusal) if is_in_the_way(&refusal) => {}
            _ => return Ok(path.clone()),
        }
        let path = self.enter_parent(path)?;
        let Some((_, directory)) = &self.present else { return Ok(path) };
        let name = split(&path).1;
        match directory.open(name) {
            Err(refusal) if is_in_the_way(&refusal) => {
                directory.unlink(name).map_err(|refusal| self.refused(&path, refusal))?;
            }
            _ => {}
        }
        Ok(path)
    }

    /// Makes the directory that an entry is in the current one. Returns the entry's path without links.
    pub(super) fn enter_parent(&mut self, path: &Bytes) -> Result<Bytes, Error> {
        let parent = split(path).0;
        if self.present.as_ref().is_some_and(|(present, _)| present == parent) {
            return Ok(path.clone());
        }
        match self.open(parent) {
            Ok(opened) => self.stand_in(parent, opened),
            Err(refusal) if is_in_the_way(&refusal) => {
                let resolved = self.resolve_parent(path).map_err(|refusal| self.not_entered(parent, &refusal))?;
                self.refuse_reserved(&resolved)?;
                self.enter(split(&resolved).0)?;
                return Ok(resolved);
            }
            Err(_) => self.enter(parent)?,
        }
        Ok(path.clone())
    }

    /// The path of an entry without links. Follows links in its parents.
    pub(super) fn resolve_parent(&self, path: &[u8]) -> Result<Bytes, Refusal> {
        let (parent, name) = split(path);
        let mut resolved = self.root.resolve(parent, &|id| self.symlinks.contains(&id))?;
        if !resolved.is_empty() {
            resolved.push(b'/');
        }
        resolved.extend_from_slice(name);
        Ok(resolved)
    }

    /// Opens the directory that an existing entry is in. Returns the entry's path without links, too.
    pub(super) fn open_parent(&self, path: &[u8]) -> Result<(Directory, Bytes), Refusal> {
        match self.open(split(path).0) {
            Err(refusal) if is_in_the_way(&refusal) => {
                let path = self.resolve_parent(path)?;
                Ok((self.open(split(&path).0)?, path))
            }
            opened => Ok((opened?, path.to_vec())),
        }
    }

    /// Whether the target of a hard link was left out.
    pub(super) fn links_to_left_out(&self, target: &[u8]) -> bool {
        // Links are followed only if there is a reason.
        !self.left_out.is_empty()
            && self
                .open_parent(target)
                .map_or_else(|_| self.left_out.contains(target), |(_, path)| self.left_out.contains(&path))
    }

    /// Remembers a symbolic link that the tar made.
    pub(super) fn note_symlink(&mut self, link: &DestinationNode) {
        if self.symlinks.len() < SYMLINKS_MOST
            && let Ok(id) = link.id()
        {
            self.symlinks.insert(id);
        }
    }

    /// Makes a directory the current one. Creates it and its parents if they are missing.
    pub(super) fn enter(&mut self, path: &[u8]) -> Result<(), Error> {
        if self.present.as_ref().is_some_and(|(present, _)| present == path) {
            return Ok(());
        }
        let opened = match self.open(path) {
            Err(refusal) if matches!(refusal.errno(), Some(Errno::NOENT | Errno::ACCESS)) => self.make_way(path)?,
            Err(refusal) if is_in_the_way(&refusal) => {
                return Err(self.not_entered(path, &Refusal::Os(refusal.action(), Errno::NOTDIR)));
            }
            opened => opened.map_err(|refusal| self.refused(path, refusal))?,
        };
        self.stand_in(path, opened);
        Ok(())
    }

    /// Makes an open directory the current one.
    pub(super) fn stand_in(&mut self, path: &[u8], directory: Directory) {
        self.present = Some((path.to_vec(), directory));
        if let Some(staging) = &self.staging {
            staging.apart.set(None);
        }
    }

    /// The error for an entry below a name that leads to no directory.
    fn not_entered(&self, path: &[u8], refusal: &Refusal) -> Error {
        let what = match refusal.errno() {
            Some(Errno::NOENT) => {
                "an entry is below it, and a symbolic link in it leads to a path that does not exist".to_string()
            }
            Some(Errno::LOOP) => format!(
                "an entry is below it, and it leads through too many symbolic links (expected at most {LINK_HOPS_MAX})"
            ),
            Some(Errno::NOTDIR) => {
                "an entry is below it, and it, or a name in it, is a file, or a symbolic link that the \
                 archive did not make (expected directories)"
                    .to_string()
            }
            _ => return self.refused(path, *refusal),
        };
        let cause = io::Error::new(refusal.cause().kind(), what);
        Error::Output { path: self.path(path), action: "cannot open", cause }
    }

    pub(super) fn open(&self, path: &[u8]) -> Result<Directory, Refusal> {
        let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect();
        match self.root.open_way(&names)? {
            Some(found) => Ok(found),
            None => self.root.again(),
        }
    }

    fn make_way(&mut self, path: &[u8]) -> Result<Directory, Error> {
        let mut at = self.root.again().map_err(|refusal| self.refused(path, refusal))?;
        let mut length = 0;
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            length += name.len() + usize::from(length > 0);
            at = match at.open_writable(name) {
                Err(Refusal::Os(_, Errno::NOENT)) => {
                    self.keep(length)?;
                    self.extended.insert(path[..length].to_vec(), IMPLIED_MODE);
                    at.make(name).map_err(|refusal| self.refused(path, refusal))?
                }
                opened => {
                    let WritableDirectory { directory, before } =
                        opened.map_err(|refusal| self.refused(path, refusal))?;
                    self.note_extended(&path[..length], before);
                    directory
                }
            };
        }
        Ok(at)
    }

    fn note_extended(&mut self, path: &[u8], before: Option<u16>) {
        if let Some(mode) = before {
            self.extended.entry(path.to_vec()).or_insert(mode);
        }
    }

    /// Gives the user of this process all permissions for the current directory. Returns false if nothing changed.
    pub(super) fn extend_present(&mut self) -> bool {
        let Some((path, directory)) = &self.present else { return false };
        let path = path.clone();
        let before = directory.make_writable().ok().flatten();
        self.note_extended(&path, before);
        before.is_some()
    }
}

/// Whether a name is a file or a link where a directory is needed.
fn is_in_the_way(refusal: &Refusal) -> bool {
    matches!(refusal.errno(), Some(Errno::NOTDIR | Errno::LOOP))
}
