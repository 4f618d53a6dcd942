//! The entries of an image in the order of a directory source, without their contents.

use std::rc::Rc;

use packline_tree::{Bytes, Entry, Keep, KeepRule};
use packline_volume::{FileData, Inode, Node, NodeId, ReadError, SharedVolume, Visit, Walk};

use crate::links::Links;
use crate::tar_out::{kind_of, weight};

/// An error, and the path of the affected entry.
pub(super) type Fault = (Bytes, ReadError);

/// A name, and an earlier name of the same inode.
pub(super) struct Name {
    pub(super) path: Bytes,
    pub(super) inode: Inode,
    link: Option<Bytes>,
}

/// An entry and the position of its content.
pub(super) struct SourceEntry {
    pub(super) entry: Entry,
    pub(super) at: NodeId,
    /// The content, if it is a file.
    pub(super) file: Option<FileData>,
}

/// Walks an image depth first, names ordered by their bytes. The first kept name of a file is the file, and its other
/// kept names are links to the first.
pub(super) struct Names {
    walk: Walk,
    links: Links,
    rule: KeepRule,
}

impl Names {
    /// Walks the complete image; `link_bytes`: memory for the first names of files with several names.
    pub(super) fn new(volume: &SharedVolume, link_bytes: u64, rule: &KeepRule) -> Names {
        let walk = Walk::new(volume, volume.root(), Bytes::new());
        Names { walk, links: Links::new(link_bytes), rule: Rc::clone(rule) }
    }

    /// Whether an entry is kept. Nothing below a pruned entry is visited.
    fn keeps(&mut self, visit: &Visit) -> bool {
        let keep = (self.rule)(&visit.path, matches!(visit.inode.node, Node::Directory(_)));
        if keep == Keep::Prune {
            self.walk.prune();
        }
        keep == Keep::Yes
    }

    fn name(&mut self, Visit { path, inode }: Visit) -> Result<Name, Fault> {
        match self.links.earlier(&inode, &path) {
            Ok(link) => Ok(Name { path, inode, link }),
            Err(error) => Err((path, error)),
        }
    }
}

impl Iterator for Names {
    type Item = Result<Name, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.walk.next()? {
                Ok(visit) if !self.keeps(&visit) => {}
                visit => return Some(visit.and_then(|visit| self.name(visit))),
            }
        }
    }
}

impl Name {
    /// Returns the content, unless it is read under another name.
    pub(super) fn file(&self) -> Option<&FileData> {
        match &self.inode.node {
            Node::File(data) if self.link.is_none() => Some(data),
            _ => None,
        }
    }

    /// Reads the extended attributes and returns the entry.
    pub(super) fn into_entry(self, volume: &SharedVolume) -> Result<SourceEntry, Fault> {
        let file = self.file().cloned();
        let at = self.inode.at;
        let meta = self.inode.meta;
        let xattrs = if self.link.is_some() { Ok(Vec::new()) } else { volume.xattrs(&self.inode) };
        match xattrs {
            Ok(xattrs) => {
                let kind = kind_of(self.inode, self.link);
                Ok(SourceEntry { entry: Entry { path: self.path, kind, meta, xattrs }, at, file })
            }
            Err(error) => Err((self.path, error)),
        }
    }
}

/// Returns the bytes that an entry, or a fault, refers to.
pub(super) fn bytes_of(named: &Result<SourceEntry, Fault>) -> usize {
    match named {
        Ok(named) => weight(&named.entry),
        Err((path, _)) => path.len(),
    }
}
