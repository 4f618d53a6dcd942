//! The entries of a tree with the bytes that they use.

use packline_volume::{NodeId, NodeType};

use super::fixed::{Fixed, Rounding, Sum};

/// One entry, in about 90 bytes with its name.
#[derive(Debug, Clone, Copy)]
struct Node {
    own: Sum,
    share: Sum,
    /// Bytes of content.
    size: u64,
    /// Bytes that several files share, each counted in full; later, the bytes that sharing saved.
    saved: u64,
    /// Two files with the same pieces have the same number.
    signature: u64,
    id: NodeId,
    parent: u32,
    /// End of its name in the names of all entries.
    name_end: u32,
    /// Maximum number of files that use the same byte.
    users: u32,
    /// Files below, or 1 for a file.
    files: u32,
    /// The last entry below it, plus one.
    end: u32,
    kind: NodeType,
    is_link: bool,
}

/// An entry that is added.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntry<'n> {
    pub(super) parent: u32,
    pub(super) name: &'n [u8],
    pub(super) id: NodeId,
    pub(super) kind: NodeType,
    /// Bytes of content; 0 for a further name of a file.
    pub(super) size: u64,
    pub(super) is_link: bool,
}

/// The bytes that an entry uses. For a directory, the sums of everything below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Use {
    /// Bytes of content, holes included. A file with several names counts at its first name.
    pub size: u64,
    /// Stored bytes that no other file uses.
    pub own: u64,
    /// The entry's share of stored bytes that several files use.
    pub shared: u64,
    /// Stored bytes that the entry would need in addition if it shared nothing.
    pub saved: u64,
    /// Number of regular files, each once for all of its names.
    pub files: u64,
}

impl Use {
    /// Returns the stored bytes of which the entry is the cause: its own, and its share of others.
    pub fn stored(&self) -> u64 {
        self.own.saturating_add(self.shared)
    }

    /// Returns bytes of the image that no file has.
    pub fn of_structure(bytes: u64) -> Use {
        Use { own: bytes, ..Use::default() }
    }

    /// Returns the sum of two.
    #[must_use]
    pub fn plus(&self, other: &Use) -> Use {
        Use {
            size: self.size.saturating_add(other.size),
            own: self.own.saturating_add(other.own),
            shared: self.shared.saturating_add(other.shared),
            saved: self.saved.saturating_add(other.saved),
            files: self.files.saturating_add(other.files),
        }
    }
}

/// One entry of a tree.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct UsageEntry<'t> {
    /// Number of the entry: entries are numbered from 0, the root, in the order of the tree. A directory precedes what is below it.
    pub number: usize,
    /// Number of the directory that has the entry; the root's own number for the root.
    pub parent: usize,
    /// The number after the last entry below this one.
    pub end: usize,
    /// The name; empty for the root.
    pub name: &'t [u8],
    /// Type of the entry.
    pub kind: NodeType,
    /// Whether this is a further name of a file that precedes it.
    pub is_link: bool,
    /// Maximum number of files, itself included, that use the same stored byte; 1 or 0 if nothing is shared.
    pub users: u32,
    /// Its bytes.
    pub bytes: Use,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    names: Vec<u8>,
}

impl Tree {
    /// Adds an entry after all entries of directories before it. Returns its number; `None` if it does not fit.
    pub(super) fn add(&mut self, entry: NewEntry<'_>) -> Option<u32> {
        let number = u32::try_from(self.nodes.len()).ok().filter(|number| *number < u32::MAX)?;
        let name_end = u32::try_from(self.names.len() + entry.name.len()).ok()?;
        self.names.extend_from_slice(entry.name);
        self.nodes.push(Node {
            own: Sum::default(),
            share: Sum::default(),
            size: entry.size,
            saved: 0,
            signature: 0,
            id: entry.id,
            parent: entry.parent,
            name_end,
            users: 0,
            files: u32::from(entry.kind == NodeType::File && !entry.is_link),
            end: number + 1,
            kind: entry.kind,
            is_link: entry.is_link,
        });
        Some(number)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn id(&self, number: u32) -> Option<NodeId> {
        self.nodes.get(number as usize).map(|node| node.id)
    }

    pub(super) fn sign(&mut self, number: u32, signature: u64) {
        if let Some(node) = self.nodes.get_mut(number as usize) {
            node.signature = signature;
        }
    }

    /// Adds used bytes to a file. `full` are all of the shared bytes.
    pub(super) fn charge(&mut self, number: u32, (own, share): (Fixed, Fixed), full: u64, users: u32) {
        let Some(node) = self.nodes.get_mut(number as usize) else { return };
        node.own.add(own);
        node.share.add(share);
        node.saved = node.saved.saturating_add(full);
        node.users = node.users.max(users);
    }

    /// Adds bytes that only this file uses.
    pub(super) fn charge_own(&mut self, number: u32, bytes: u64) {
        self.charge(number, (Fixed::whole(bytes), Fixed::default()), 0, u32::from(bytes > 0));
    }

    /// Rounds all bytes, so that they add up to `used`, and adds the entries of each directory to the directory.
    pub(super) fn finish(&mut self, used: u64) {
        let mut own = Rounding::default();
        let mut share = Rounding::default();
        let mut left = used;
        let mut last = None;
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let own = own.next(node.own.exact()).min(left);
            let share = share.next(node.share.exact()).min(left - own);
            left -= own + share;
            if node.own.exact().plus(node.share.exact()) > Fixed::default() {
                last = Some(index);
            }
            node.saved = node.saved.saturating_sub(share);
            node.own = Sum::whole(own);
            node.share = Sum::whole(share);
        }
        // Divisions rounded down.
        if let Some(node) = last.and_then(|last| self.nodes.get_mut(last)) {
            if node.users > 1 {
                node.share.add(Fixed::whole(left));
                node.saved = node.saved.saturating_sub(left);
            } else {
                node.own.add(Fixed::whole(left));
            }
        }
        self.add_up();
    }

    fn add_up(&mut self) {
        for index in (1..self.nodes.len()).rev() {
            let child = self.nodes[index];
            let Some(parent) = self.nodes.get_mut(child.parent as usize) else { continue };
            parent.own.add(child.own.exact());
            parent.share.add(child.share.exact());
            parent.saved = parent.saved.saturating_add(child.saved);
            parent.size = parent.size.saturating_add(child.size);
            parent.files = parent.files.saturating_add(child.files);
            parent.end = parent.end.max(child.end);
        }
    }

    pub(super) fn entry(&self, number: usize) -> Option<UsageEntry<'_>> {
        let node = self.nodes.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.nodes[before].name_end);
        Some(UsageEntry {
            number,
            parent: node.parent as usize,
            end: node.end as usize,
            name: self.names.get(start as usize..node.name_end as usize).unwrap_or_default(),
            kind: node.kind,
            is_link: node.is_link,
            users: node.users,
            bytes: Use {
                size: node.size,
                own: node.own.exact().floor(),
                shared: node.share.exact().floor(),
                saved: node.saved,
                files: node.files.into(),
            },
        })
    }

    /// Returns the numbers of files with the same stored content, each group in the order of the tree, in the order of their first files.
    pub(super) fn same_content(&self) -> Vec<Vec<usize>> {
        let shares = |node: &Node| node.kind == NodeType::File && !node.is_link && node.users > 1;
        let shared = self.nodes.iter().enumerate().filter(|(_, node)| shares(node));
        let mut all: Vec<(u64, u64, usize)> =
            shared.map(|(number, node)| (node.signature, node.size, number)).collect();
        all.sort_unstable();
        let groups = all.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)).filter(|group| group.len() > 1);
        let mut groups: Vec<Vec<usize>> =
            groups.map(|group| group.iter().map(|(_, _, number)| *number).collect()).collect();
        groups.sort_unstable();
        groups
    }

    /// Returns the numbers of first names, in the order of their ids.
    pub(super) fn by_id(&self) -> Vec<u32> {
        let first = |number: &u32| !self.nodes[*number as usize].is_link;
        let mut numbers: Vec<u32> = (0..self.nodes.len() as u32).filter(first).collect();
        numbers.sort_unstable_by_key(|number| (self.nodes[*number as usize].id, *number));
        numbers
    }
}
