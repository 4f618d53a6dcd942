//! The hard links of a tar: which are written after their files, and which are wrong.
//!
//! A tar, or a program, may name any target. The rules are those of images ([`Namespace`]): a link may come before its file, and a link to a missing
//! name, to a directory or in a circle is an error. A link before its file is written last, because other programs need the file first. Directories,
//! images and merged layers have only right links, so their names need no memory.

use std::collections::{BTreeMap, BTreeSet};

use packline_runtime::MemoryFault;
use packline_tree::{Bytes, Entry, Fault, Kind, Meta, NO_XATTR, Namespace};

use crate::error::Error;
use crate::sources::planned::DEFAULT_META;

/// Memory in bytes of a link or a name, not counting its names and attributes.
const EACH: u64 = 128;

/// What becomes of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is written now.
    Now,
    /// It is kept, and written last.
    Last,
    /// It has no effect.
    Nowhere,
}

/// Which hard links a source has.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkRules {
    /// Whether any target may be wrong or come later.
    pub checked: bool,
    /// Whether all links are written last, because they may come before their files.
    pub last: bool,
    /// Memory in bytes for names and links.
    pub memory: u64,
}

/// The hard links of a tar that is written.
pub(super) struct HardLinks {
    rules: LinkRules,
    /// All names; `None` if they are not checked.
    names: Option<Namespace>,
    /// Links that are written last. A later entry of the same name removes a link.
    waiting: Vec<Option<Entry>>,
    by_path: BTreeMap<Bytes, usize>,
    /// The names of sockets. A hard link to a socket is left out, too.
    sockets: BTreeSet<Bytes>,
    /// Memory of links and sockets in bytes.
    bytes: u64,
    /// The source's name in messages.
    input: String,
}

impl HardLinks {
    pub(super) fn new(rules: LinkRules, input: String) -> HardLinks {
        HardLinks {
            rules,
            names: rules.checked.then(|| Namespace::new(DEFAULT_META)),
            waiting: Vec::new(),
            by_path: BTreeMap::new(),
            sockets: BTreeSet::new(),
            bytes: 0,
            input,
        }
    }

    /// Whether an entry is a name of a socket, which a tar cannot hold.
    ///
    /// # Errors
    /// [`Error::Memory`] for too many names.
    pub(super) fn is_socket(&mut self, entry: &Entry) -> Result<bool, Error> {
        let is_socket = match &entry.kind {
            Kind::Socket => true,
            Kind::HardLink(target) => self.sockets.contains(target),
            _ => false,
        };
        if !is_socket {
            // A later entry replaces an earlier one.
            self.sockets.remove(&entry.path);
        } else if self.sockets.insert(entry.path.clone()) {
            self.keep(entry.path.len())?;
        }
        Ok(is_socket)
    }

    /// Checks an entry that is not a socket, and keeps a link that is written last. A warning is returned if links are not checked any more.
    ///
    /// # Errors
    /// [`Error::Tree`] for a link to a directory; [`Error::Memory`] for too many names and links.
    pub(super) fn place(&mut self, entry: &Entry, warn: &mut dyn FnMut(&str)) -> Result<Place, Error> {
        if let Some(earlier) = self.by_path.remove(&entry.path) {
            self.waiting[earlier] = None;
        }
        let place = self.checked_place(entry, warn)?;
        if place == Place::Last {
            self.by_path.insert(entry.path.clone(), self.waiting.len());
            self.waiting.push(Some(entry.clone()));
            let target = if let Kind::HardLink(target) = &entry.kind { target.len() } else { 0 };
            let xattrs: usize = entry.xattrs.iter().map(|xattr| xattr.name.len() + xattr.value.len()).sum();
            self.keep(2 * entry.path.len() + target + xattrs)?;
        }
        Ok(place)
    }

    fn checked_place(&mut self, entry: &Entry, warn: &mut dyn FnMut(&str)) -> Result<Place, Error> {
        let target = if let Kind::HardLink(target) = &entry.kind { Some(target) } else { None };
        let last = if target.is_some() && self.rules.last { Place::Last } else { Place::Now };
        let Some(names) = &mut self.names else { return Ok(last) };
        let is_there = target.is_none_or(|target| names.inode_at(target).is_some());
        if is_there && target == Some(&entry.path) {
            return Ok(Place::Nowhere);
        }
        // Attributes are not stored.
        let bare = Entry {
            path: entry.path.clone(),
            kind: entry.kind.clone(),
            meta: Meta::new(0, 0, 0, 0),
            xattrs: Vec::new(),
        };
        match names.add(&bare, 0, NO_XATTR) {
            Ok(()) => {}
            Err(error) if matches!(error.fault, Fault::LinkToDirectory(_)) => {
                return Err(error.in_input(&self.input).into());
            }
            // A tar of changes may be a part of a tree.
            Err(error) => {
                warn(&format!("{}; hard links are not checked from there on", error.in_input(&self.input)));
                self.names = None;
            }
        }
        self.check_memory()?;
        Ok(if is_there { last } else { Place::Last })
    }

    /// The links that are written last, each after the link that is its target.
    ///
    /// # Errors
    /// [`Error::Tree`] for a link to a missing name, to a directory or in a circle.
    pub(super) fn finish(&mut self) -> Result<Vec<Entry>, Error> {
        if let Some(names) = self.names.take() {
            names.finish().map_err(|error| error.in_input(&self.input))?;
        }
        let mut ordered = Vec::new();
        for start in 0..self.waiting.len() {
            let mut chain = Vec::new();
            let mut next = Some(start);
            while let Some(link) = next.and_then(|at| self.waiting[at].take()) {
                next = if let Kind::HardLink(target) = &link.kind { self.by_path.get(target).copied() } else { None };
                chain.push(link);
            }
            ordered.extend(chain.into_iter().rev());
        }
        Ok(ordered)
    }

    fn keep(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes as u64 + EACH;
        self.check_memory()
    }

    fn check_memory(&self) -> Result<(), Error> {
        let names = self.names.as_ref().map_or(0, |names| names.memory() as u64);
        let needed = names.saturating_add(self.bytes);
        if needed <= self.rules.memory {
            return Ok(());
        }
        let what = format!("the names and hard links of {}", self.input);
        Err(Error::Memory(MemoryFault { allowed: self.rules.memory, needed, what }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, target: Option<&str>) -> Entry {
        let kind = target.map_or(Kind::File { size: 0 }, |target| Kind::HardLink(target.into()));
        Entry { path: path.into(), kind, meta: Meta::new(0o644, 0, 0, 0), xattrs: Vec::new() }
    }

    fn links(memory: u64) -> HardLinks {
        HardLinks::new(LinkRules { checked: true, last: false, memory }, "x.tar".to_string())
    }

    /// The links of a tar that are written last, as `path target`, and the number of warnings.
    fn last(entries: &[Entry]) -> Result<(Vec<String>, usize), String> {
        let mut links = links(u64::MAX);
        let mut warnings = 0;
        for entry in entries {
            links.place(entry, &mut |_| warnings += 1).map_err(|error| error.to_string())?;
        }
        let name = |entry: Entry| match entry.kind {
            Kind::HardLink(target) => format!("{} {}", entry.path.escape_ascii(), target.escape_ascii()),
            _ => String::new(),
        };
        let ordered = links.finish().map_err(|error| error.to_string())?;
        Ok((ordered.into_iter().map(name).collect(), warnings))
    }

    #[test]
    fn links_before_their_files_come_last_and_after_the_links_that_they_lead_to() {
        let file = entry("f", None);
        let chain = [entry("a", Some("b")), entry("b", Some("c")), entry("c", Some("f")), file.clone()];
        assert_eq!(last(&chain).unwrap().0, ["c f", "b c", "a b"]);
        let after = [file.clone(), entry("a", Some("f")), entry("f", Some("f")), entry("b", Some("a"))];
        assert!(last(&after).unwrap().0.is_empty());
        // The last entry of a name counts.
        let replaced = [entry("a", Some("f")), file.clone(), entry("a", None)];
        assert!(last(&replaced).unwrap().0.is_empty());
    }

    #[test]
    fn wrong_links_are_named() {
        let directory = Entry { kind: Kind::Dir, ..entry("d", None) };
        let cases = [
            (vec![entry("a", Some("none"))], "x.tar: a: hard link to none, which is missing"),
            (vec![entry("a", Some("a"))], "hard link to a, which leads back to it"),
            (vec![entry("a", Some("b")), entry("b", Some("a"))], "which leads back to it"),
            (vec![directory.clone(), entry("a", Some("d"))], "a: hard link to the directory d"),
            (vec![entry("a", Some("d")), directory], "a: hard link to the directory d"),
        ];
        for (entries, expected) in cases {
            let error = last(&entries).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn a_part_of_a_tree_is_not_checked_and_its_links_are_kept() {
        let link = Entry { kind: Kind::Symlink("usr/lib".into()), ..entry("lib", None) };
        let entries = [link, entry("lib/x", None), entry("a", Some("elsewhere"))];
        assert_eq!(last(&entries).unwrap(), (Vec::new(), 1));
    }

    #[test]
    fn names_and_links_are_bounded() {
        let mut small = links(20_000);
        let failed =
            (0..1000).find_map(|number| small.place(&entry(&format!("{number}"), Some("f")), &mut |_| {}).err());
        assert!(matches!(failed, Some(Error::Memory(_))), "{failed:?}");
        let mut small = HardLinks::new(LinkRules { checked: false, last: false, memory: 20_000 }, String::new());
        let socket = |number| Entry { kind: Kind::Socket, ..entry(&format!("{number}"), None) };
        let failed = (0..1000).find_map(|number| small.is_socket(&socket(number)).err());
        assert!(matches!(failed, Some(Error::Memory(_))), "{failed:?}");
    }
}
