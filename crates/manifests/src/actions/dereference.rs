//! The action `dereference`: replaces symbolic links with their targets.
//!
//! All expressions are evaluated before any link is followed, so that no result depends on another. If the target is a directory, it is read
//! again and all links in it are followed. Actions of this stage and `exclude` do not apply to entries in that directory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use packline_tree::{Entry, Error, HostFile, Kind, Names, NotFollowed, Symlinks, scan};

use super::ActionReport;
use super::action::{Action, Stage};
use super::run::Run;
use super::tree::{FileStorage, Inode, NodeId, Tree};

/// Device and inode number of a file on this machine.
type FileId = (u64, u64);
/// The inode of the tree that stands for each file.
type Files = BTreeMap<FileId, usize>;

impl Run<'_> {
    pub fn dereference(&mut self) -> Result<(), Error> {
        let mut links = Vec::new();
        if self.has(Stage::Dereference) {
            for node in self.tree.top_down() {
                links.extend(self.otherwise(node)?.map(|otherwise| (node, otherwise)));
            }
        }
        let mut files = if links.is_empty() { Files::new() } else { files_of(&self.tree) };
        links.into_iter().try_for_each(|(node, otherwise)| self.follow(node, otherwise, &mut files))
    }

    /// Returns what to do with a symbolic link that cannot be followed; `None` if no action applies to the link.
    fn otherwise(&mut self, node: NodeId) -> Result<Option<NotFollowed>, Error> {
        if !matches!(self.tree.inode(node).kind, Kind::Symlink(_)) {
            return Ok(None);
        }
        for rule in self.rules(Stage::Dereference) {
            if let (Action::Dereference(otherwise), true) = (&rule.action, self.holds(rule, node)?) {
                return Ok(Some(*otherwise));
            }
        }
        Ok(None)
    }

    fn follow(&mut self, node: NodeId, otherwise: NotFollowed, files: &mut Files) -> Result<(), Error> {
        let Some(place) = self.tree.inode(node).place.clone() else { return Ok(()) };
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return Ok(()) };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let path = self.tree.path(node)[1..].to_vec();
        let above = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let mut options = (self.settings.reading)(&path[..above]);
        options.symlinks = Symlinks::Followed(otherwise);
        options.above = self.ids_above(node);
        options.only = Some(Names::existing(parent, "", [(1, name.as_bytes())])?);
        let hard_links = options.hard_links;
        let report = &mut *self.report;
        let mut entries = scan(parent, options, &mut |text| report(ActionReport::Warning(text)))?.into_iter().skip(1);
        match entries.next() {
            None => self.tree.remove(node),
            Some((Entry { kind: Kind::Symlink(_), .. }, _)) => {}
            Some(first) => {
                for (mut entry, file) in [first].into_iter().chain(entries) {
                    let place = Some(parent.join(OsStr::from_bytes(&entry.path)));
                    let moved = |found: &[u8]| [&path, found.get(name.len()..).unwrap_or_default()].concat();
                    entry.path = moved(&entry.path);
                    if let Kind::HardLink(target) = &mut entry.kind {
                        *target = moved(target);
                    }
                    let at = if entry.path == path { node } else { self.tree.node_at(&entry.path) };
                    let known = file.as_ref().and_then(HostFile::id).filter(|_| hard_links);
                    let inode = match known.and_then(|id| files.get(&id)) {
                        Some(inode) => *inode,
                        None => self.tree.inode_of(at, entry, file, place)?,
                    };
                    files.extend(known.map(|id| (id, inode)));
                    let node = self.tree.node_mut(at);
                    node.inode = inode;
                    node.implied = false;
                }
            }
        }
        Ok(())
    }

    /// The directories above an entry.
    fn ids_above(&self, node: NodeId) -> BTreeSet<FileId> {
        let directories = std::iter::successors(self.tree.node(node).parent, |at| self.tree.node(*at).parent);
        let places = directories.filter_map(|directory| self.tree.inode(directory).place.as_deref());
        places.filter_map(|place| fs::metadata(place).ok()).map(|found| (found.dev(), found.ino())).collect()
    }
}

impl Tree {
    /// Adds an inode for an entry. A hard link has the inode of its target.
    fn inode_of(
        &mut self,
        node: NodeId,
        entry: Entry,
        file: Option<HostFile>,
        place: Option<PathBuf>,
    ) -> Result<usize, Error> {
        let Entry { kind, meta, xattrs, .. } = entry;
        if let Kind::HardLink(target) = &kind {
            return self.target(target).ok_or_else(|| self.dangling(node, target));
        }
        self.inodes.push(Inode { kind, meta, xattrs, file, place, storage: FileStorage::default() });
        Ok(self.inodes.len() - 1)
    }
}

fn files_of(tree: &Tree) -> Files {
    let inodes = tree.inodes.iter().enumerate();
    inodes.filter_map(|(at, inode)| Some((inode.file.as_ref()?.id()?, at))).collect()
}
