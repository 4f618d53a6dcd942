//! Changes of entries between the source and the image.

pub(crate) mod limits;

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use packline_runtime::escape::Escape;
use packline_tree::{Bytes, Entry, Glob, Keep, KeepRule, Kind, PathFilter, Patterns, Time, Xattr};

use super::attribute_overrides::AttributeOverrides;
use crate::error::Error;
use limits::EntryLimits;

/// How attributes are handled that the container cannot store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsupported {
    /// Skip them, with a warning for each name.
    #[default]
    Skip,
    /// Fail.
    Refuse,
    /// Ignore them, since the image stores no attributes.
    Ignore,
}

/// A directory of the source that becomes the root of the image; everything else is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRoot {
    /// Canonical path of the directory, not empty.
    pub path: Bytes,
    /// Whether symbolic links into the directory are changed to point to the same place below the new root.
    pub retarget: bool,
    /// Whether it is an error if the source does not contain it; otherwise the image is empty, with a warning.
    pub required: bool,
}

/// Changes of entries. The default changes nothing.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Owner of everything.
    pub uid: Option<u32>,
    /// Group of everything.
    pub gid: Option<u32>,
    /// Modification time of everything, seconds since 1970.
    pub mtime: Option<i64>,
    /// Latest modification time. It replaces later times (`SOURCE_DATE_EPOCH`).
    pub mtime_most: Option<i64>,
    /// A directory that becomes the root.
    pub root: Option<NewRoot>,
    /// Entries to leave out with everything below them. A directory source should get them itself, so that it skips them.
    pub exclude: Patterns,
    /// Patterns of complete paths in the source; matching entries are left out, but not those below them.
    pub drop: Vec<Glob>,
    /// Canonical paths of the source to leave out: the output itself.
    pub without: Vec<Bytes>,
    /// A rule of the caller that leaves out entries. A directory source should get the rule itself.
    pub filter: Option<PathFilter>,
    /// A change by the caller, applied after the changes of owner and time.
    pub edit: Option<EntryEdit>,
    /// Attributes from separate files, not from the source.
    pub overrides: Option<Arc<Mutex<AttributeOverrides>>>,
    /// How attributes are handled that the container cannot store.
    pub unsupported: Unsupported,
}

impl Changes {
    /// Changes one entry; `None` if it is left out. `warn` gets each dropped attribute, which is beyond `limits`.
    ///
    /// # Errors
    /// [`packline_tree::Error::Entry`] for a new root that is not a directory and for an attribute that cannot be stored.
    pub(crate) fn apply(
        &self,
        mut entry: Entry,
        limits: &EntryLimits,
        warn: &mut dyn FnMut(&Entry, &Xattr),
    ) -> Result<Option<Entry>, packline_tree::Error> {
        if self.leaves_out(&entry.path, entry.kind == Kind::Dir) {
            return Ok(None);
        }
        if let Some(root) = &self.root
            && !root.apply(&mut entry)?
        {
            return Ok(None);
        }
        self.change_meta(&mut entry);
        if let Some(edit) = &self.edit {
            edit.apply(&mut entry)?;
        }
        if let Some(overrides) = &self.overrides {
            overrides.lock().unwrap_or_else(PoisonError::into_inner).apply(&mut entry);
        }
        self.check_xattrs(&mut entry, limits, warn)?;
        Ok(Some(entry))
    }

    /// Returns whether an entry at a path of the source is kept. `directory`: whether the entry is a directory.
    pub(crate) fn keeps(&self, path: &[u8], directory: bool) -> bool {
        !self.leaves_out(path, directory) && self.root.as_ref().is_none_or(|root| root.below(path).is_some())
    }

    /// Moves the exclusions out of the changes into a rule for an image. The new root stays: its entries are moved later.
    pub(crate) fn take_rule(&mut self) -> KeepRule {
        let rule = Changes {
            exclude: std::mem::take(&mut self.exclude),
            drop: std::mem::take(&mut self.drop),
            without: std::mem::take(&mut self.without),
            filter: self.filter.take(),
            root: self.root.clone(),
            ..Changes::default()
        };
        Rc::new(move |path, directory| rule.keep(path, directory))
    }

    /// Decides about an entry whose parents are not pruned.
    fn keep(&self, path: &[u8], directory: bool) -> Keep {
        let pruned = self.without.iter().any(|without| without == path)
            || (!path.is_empty() && self.exclude.matches(path, directory))
            || self.filter.as_ref().is_some_and(|filter| filter.leaves_out(path));
        let place = self.root.as_ref().map_or(Keep::Yes, |root| root.keep(path));
        match place {
            Keep::Prune => Keep::Prune,
            _ if pruned => Keep::Prune,
            Keep::Yes if self.drop.iter().any(|glob| glob.matches(path)) => Keep::No,
            place => place,
        }
    }

    fn leaves_out(&self, path: &[u8], directory: bool) -> bool {
        self.without.iter().any(|without| without == path)
            || self.drop.iter().any(|glob| glob.matches(path))
            || self.exclude.cover(path, directory)
            || self.filter.as_ref().is_some_and(|filter| filter.covers(path))
    }

    fn change_meta(&self, entry: &mut Entry) {
        let meta = &mut entry.meta;
        meta.uid = self.uid.unwrap_or(meta.uid);
        meta.gid = self.gid.unwrap_or(meta.gid);
        let time = self.mtime.map_or(meta.mtime, Time::from_seconds);
        meta.mtime = self.mtime_most.map_or(time, |most| time.min(Time::from_seconds(most)));
    }

    fn check_xattrs(
        &self,
        entry: &mut Entry,
        limits: &EntryLimits,
        warn: &mut dyn FnMut(&Entry, &Xattr),
    ) -> Result<(), packline_tree::Error> {
        let supported = |xattr: &Xattr| (limits.stores_xattr)(&xattr.name);
        if self.unsupported == Unsupported::Ignore || entry.xattrs.iter().all(supported) {
            return Ok(());
        }
        let (kept, dropped): (Vec<Xattr>, Vec<Xattr>) =
            std::mem::take(&mut entry.xattrs).into_iter().partition(supported);
        entry.xattrs = kept;
        match (self.unsupported, dropped.first()) {
            (Unsupported::Refuse, Some(xattr)) => Err(refused_xattr(entry, xattr, limits)),
            _ => {
                dropped.iter().for_each(|xattr| warn(entry, xattr));
                Ok(())
            }
        }
    }
}

impl NewRoot {
    /// The new root at `path`, which is canonicalised and required.
    ///
    /// # Errors
    /// [`Error::Request`] if the path is empty, the root itself, or contains `..`.
    pub fn new(path: &[u8], retarget: bool) -> Result<NewRoot, Error> {
        match packline_tree::path::canonical(path) {
            Ok(path) if !path.is_empty() => Ok(NewRoot { path, retarget, required: true }),
            _ => Err(Error::Request {
                what: format!("invalid root directory '{}'", path.escaped()),
                expected: "the path of a directory below the root of the source".to_string(),
            }),
        }
    }

    /// The error of a missing root.
    pub(crate) fn missing(&self) -> packline_tree::Error {
        packline_tree::Error::Entry {
            input: "new root".to_string(),
            entry: self.path.clone(),
            what: "is not in the source".to_string(),
            expected: "a directory of the source, to become the root of the image".to_string(),
        }
    }

    /// Moves an entry to its path below the new root. Returns false if the entry is outside. The source guarantees that targets of hard links are
    /// inside.
    fn apply(&self, entry: &mut Entry) -> Result<bool, packline_tree::Error> {
        let Some(path) = self.below(&entry.path) else { return Ok(false) };
        if path.is_empty() && entry.kind != Kind::Dir {
            return Err(not_a_directory(entry));
        }
        entry.path = path;
        match &mut entry.kind {
            // Below the new root the old path would be that of another entry.
            Kind::HardLink(target) => *target = self.below(target).ok_or_else(|| link_outside(&entry.path, target))?,
            Kind::Symlink(target) if self.retarget => self.retarget(target),
            _ => {}
        }
        Ok(true)
    }

    /// Converts a path below the old root to one below the new root.
    fn below(&self, path: &[u8]) -> Option<Bytes> {
        match path.strip_prefix(self.path.as_slice())? {
            [] => Some(Bytes::new()),
            [b'/', rest @ ..] => Some(rest.to_vec()),
            _ => None,
        }
    }

    /// Decides about an entry of the source: the parents of the new root are left out, but not the entries below them.
    fn keep(&self, path: &[u8]) -> Keep {
        let leads = path.is_empty() || self.path.strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"));
        match self.below(path) {
            Some(_) => Keep::Yes,
            None if leads => Keep::No,
            None => Keep::Prune,
        }
    }

    /// `/new/root/x` and `new/root/x` become `/x`; every other target is unchanged.
    fn retarget(&self, target: &mut Bytes) {
        let below = packline_tree::path::canonical(target).ok().and_then(|path| self.below(&path));
        if let Some(below) = below.filter(|below| !below.is_empty()) {
            *target = [b"/", below.as_slice()].concat();
        }
    }
}

fn not_a_directory(entry: &Entry) -> packline_tree::Error {
    packline_tree::Error::Entry {
        input: "new root".to_string(),
        entry: entry.path.clone(),
        what: "is not a directory".to_string(),
        expected: "a directory, to become the root of the image".to_string(),
    }
}

fn link_outside(path: &[u8], target: &[u8]) -> packline_tree::Error {
    packline_tree::Error::Entry {
        input: "new root".to_string(),
        entry: path.to_vec(),
        what: format!("hard link to {}, which is outside", String::from_utf8_lossy(target)),
        expected: "a target below the new root".to_string(),
    }
}

fn refused_xattr(entry: &Entry, xattr: &Xattr, limits: &EntryLimits) -> packline_tree::Error {
    packline_tree::Error::Entry {
        input: "extended attributes".to_string(),
        entry: entry.path.clone(),
        what: format!("attribute {} cannot be stored", xattr.name.escaped()),
        expected: format!("{} with a name of at most {} bytes after it", limits.xattrs, limits.name_most),
    }
}

/// Changes attributes of entries on their way into the image. Clones share the change.
#[derive(Clone)]
pub struct EntryEdit(Arc<Rule>);

type Rule = dyn Fn(&mut Entry) -> Result<(), packline_tree::Error> + Send + Sync;

impl EntryEdit {
    /// `edit` changes an entry's attributes: not its path, nor its kind. It must depend on the entry alone.
    pub fn new(edit: impl Fn(&mut Entry) -> Result<(), packline_tree::Error> + Send + Sync + 'static) -> EntryEdit {
        EntryEdit(Arc::new(edit))
    }

    pub(crate) fn apply(&self, entry: &mut Entry) -> Result<(), packline_tree::Error> {
        (self.0)(entry)
    }
}

impl fmt::Debug for EntryEdit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EntryEdit")
    }
}

#[cfg(test)]
mod tests;
