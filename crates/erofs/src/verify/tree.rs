//! The tree: every directory has one name, every inode the stated number of names, and each inode is valid by itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use packline_volume::{Inode, Node, NodeId, ReadError, Report, SharedUses, Visit, Walk};

use super::attributes::Attributes;
use super::layout::{Layouts, NamedInode};
use super::{VerifySettings, check_cancelled, inode, listing};
use crate::read::Image;
use crate::read::inode::Inodes;

/// The tree as far as it was walked.
pub(super) struct Tree<'t> {
    image: &'t Image,
    settings: &'t VerifySettings,
    inodes: Inodes,
    attributes: Attributes<'t>,
    pub(super) files: Files,
    /// The directories from the root to the last entry.
    path: Vec<OpenDirectory>,
    /// Uses of shared units, in the order of the first names of files.
    pub(super) uses: SharedUses,
    /// Bytes of content of all files.
    pub(super) content: u64,
}

/// A directory whose entries are being visited.
struct OpenDirectory {
    at: NodeId,
    number: u64,
    links: u32,
    directories: u32,
}

impl<'t> Tree<'t> {
    pub(super) fn new(image: &'t Image, settings: &'t VerifySettings) -> Tree<'t> {
        Tree {
            image,
            settings,
            inodes: image.inodes(),
            attributes: Attributes::new(image),
            files: Files::default(),
            path: Vec::new(),
            uses: SharedUses::new(),
            content: 0,
        }
    }

    /// Visits all entries. Returns false if there are more files than the memory holds.
    pub(super) fn walk(&mut self, layouts: &mut Layouts<'_>, report: &mut Report<'_>) -> Result<bool, ReadError> {
        for visit in Walk::new(self.image, self.image.root(), Vec::new()) {
            check_cancelled(self.settings)?;
            match visit {
                Ok(visit) => self.visit(&visit, layouts, report)?,
                Err((path, error)) => report.unread(named(&path), error)?,
            }
            if self.files.0.len() > self.settings.inodes {
                let expected = format!("at most the {} inodes of the superblock", self.image.superblock().inodes);
                report.fault(0, format!("more than {} files", self.settings.inodes), expected);
                return Ok(false);
            }
        }
        self.leave(0, report);
        Ok(true)
    }

    /// Checks an entry, without its content.
    fn visit(&mut self, visit: &Visit, layouts: &mut Layouts<'_>, report: &mut Report<'_>) -> Result<(), ReadError> {
        let Visit { path, inode } = visit;
        // The walk is depth first: the entries after a directory are in it until one is at the directory's own depth.
        let depth = if path.is_empty() { 0 } else { 1 + path.iter().filter(|byte| **byte == b'/').count() };
        self.leave(depth, report);
        report.totals.names += u64::from(!path.is_empty());
        let parent = self.path.last().map_or(inode.at, |above| above.at);
        let is_directory = matches!(inode.node, Node::Directory(_));
        if is_directory {
            self.enter(inode, report);
        } else if !self.files.name(inode) {
            return Ok(());
        }
        report.totals.inodes += 1;
        report.totals.symlinks += u64::from(matches!(inode.node, Node::Symlink(_)));
        let placed = self.inodes.fields(inode.at)?;
        let named = NamedInode { path: named(path), placed: &placed };
        layouts.features |= inode::check(self.image, named, report)?;
        layouts.features |= self.attributes.check(named, report)?;
        layouts.add_inode(named, report)?;
        if is_directory {
            listing::check(self.image, named, [inode.at, parent], report)?;
        }
        if let Node::File(file) = &inode.node {
            report.totals.files += 1;
            self.uses.note(self.image, file);
            self.content = self.content.saturating_add(file.size);
        }
        Ok(())
    }

    fn enter(&mut self, inode: &Inode, report: &mut Report<'_>) {
        report.totals.directories += 1;
        if let Some(above) = self.path.last_mut() {
            above.directories = above.directories.saturating_add(1);
        }
        self.path.push(OpenDirectory { at: inode.at, number: inode.number, links: inode.links, directories: 0 });
    }

    /// Leaves the directories at this depth and below it, and checks their link counts.
    fn leave(&mut self, depth: usize, report: &mut Report<'_>) {
        while self.path.len() > depth {
            let Some(OpenDirectory { at, number, links, directories }) = self.path.pop() else { return };
            let counted = directories.saturating_add(2);
            // A count of 1 means that the number is unknown. After a fault, names may be missing.
            if links != counted && links != 1 && report.totals.faults == 0 {
                let what = format!("directory, inode {number}, with a link count of {links}");
                let expected = format!("{counted}: 2, and 1 for each directory in it");
                report.note(self.address_of(at), what, expected);
            }
        }
    }

    fn address_of(&self, at: NodeId) -> u64 {
        packline_volume::Volume::offset_of(self.image, at) & !crate::format::METABOX
    }

    /// Compares the link counts of files with their names.
    pub(super) fn check_names(&self, report: &mut Report<'_>) {
        if report.totals.faults > 0 {
            return;
        }
        for (at, File { names, links, .. }) in self.files.0.iter().filter(|(_, file)| file.names != file.links) {
            let what = format!("file with a link count of {links}");
            let expected = format!("{names}, the number of its names");
            report.fault(self.address_of(*at), what, expected);
        }
    }
}

/// The entries that are not directories, each once for all of its names.
#[derive(Default)]
pub(super) struct Files(BTreeMap<NodeId, File>);

struct File {
    names: u32,
    links: u32,
    /// Whether the content was requested.
    is_read: bool,
}

impl Files {
    /// Counts a name, and returns whether it is the first one.
    fn name(&mut self, inode: &Inode) -> bool {
        match self.0.entry(inode.at) {
            Entry::Occupied(file) => {
                let names = &mut file.into_mut().names;
                *names = names.saturating_add(1);
                false
            }
            Entry::Vacant(place) => {
                place.insert(File { names: 1, links: inode.links, is_read: false });
                true
            }
        }
    }

    /// Returns whether the content of a file was not requested before.
    pub(super) fn request(&mut self, at: NodeId) -> bool {
        self.0.get_mut(&at).is_some_and(|file| !std::mem::replace(&mut file.is_read, true))
    }
}

/// The root has no name in messages.
fn named(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() { None } else { Some(path) }
}
