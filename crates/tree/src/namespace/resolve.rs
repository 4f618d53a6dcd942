//! Finds names by path: the table of (directory, name), and parents that are symbolic links.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::error::{Fault, LINK_HOPS_MAX};
use super::recent::{Order, WalkPosition};
use super::store::{Inode, InodeId, NodeId, ROOT, Store, Type};
use crate::Meta;

/// Finds names by (directory, name). The table is never iterated, so its random order has no effect.
///
/// New names are added to the table at the next look-up, because a sorted directory without hard links needs no look-ups.
pub(super) struct Lookup {
    table: HashTable<u32>,
    hasher: RandomState,
    /// Number of names of the store that are in the table or were removed from it. The root is in no directory.
    added: usize,
}

impl Lookup {
    pub fn new() -> Self {
        Self { table: HashTable::new(), hasher: RandomState::new(), added: 1 }
    }

    /// Whether no name was looked up yet.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Upper bound of the memory in bytes after all names of the store are added.
    pub fn memory(&self, store: &Store) -> usize {
        let buckets = (store.nodes.len() * 8 / 7).next_power_of_two();
        self.table.allocation_size().max(buckets * (size_of::<u32>() + 1))
    }

    /// A name in an entered directory. Removes a hidden name from the table.
    pub fn find(&mut self, store: &Store, parent: NodeId, name: &[u8]) -> Option<NodeId> {
        self.add_new(store);
        let same = |&id: &u32| store.node(NodeId(id)).parent == parent && store.name(NodeId(id)) == name;
        let found = NodeId(*self.table.find(self.hash(parent, name), same)?);
        if !store.shows(parent, found) {
            self.remove(store, found);
            return None;
        }
        Some(found)
    }

    pub fn remove(&mut self, store: &Store, node: NodeId) {
        let hash = self.hash(store.node(node).parent, store.name(node));
        if let Ok(entry) = self.table.find_entry(hash, |&id| id == node.0) {
            entry.remove();
        }
    }

    /// Adds the names that are not yet in the table.
    fn add_new(&mut self, store: &Store) {
        let Self { table, hasher, added } = self;
        let hash = |&id: &u32| hasher.hash_one((store.node(NodeId(id)).parent, store.name(NodeId(id))));
        let new = *added..store.nodes.len();
        table.reserve(new.len(), hash);
        for node in new.clone() {
            let id = node as u32;
            table.insert_unique(hash(&id), id, hash);
        }
        *added = new.end;
    }

    fn hash(&self, parent: NodeId, name: &[u8]) -> u64 {
        self.hasher.hash_one((parent, name))
    }
}

/// How a missing parent directory is handled.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    /// Create it with these attributes.
    Make(Meta),
    Refuse,
}

/// One walk along a path of directories. Symbolic links are followed within the tree: an absolute target starts at the root, and
/// `..` stops there. Only missing components of the entry's path are created, never components of a link's target.
pub(super) struct Walk<'a> {
    pub store: &'a mut Store,
    pub lookup: &'a mut Lookup,
    pub missing: Missing,
}

impl Walk<'_> {
    /// The directory at `path`.
    pub fn directory(&mut self, path: &[u8]) -> Result<NodeId, Fault> {
        self.directory_from(WalkPosition::ROOT, path, &mut |_| {})
    }

    /// The directory at `path`, from a known position. Passes the directories on the way to `note`.
    pub fn directory_from(
        &mut self,
        from: WalkPosition,
        path: &[u8],
        note: &mut dyn FnMut(WalkPosition),
    ) -> Result<NodeId, Fault> {
        let mut rest = Cow::Borrowed(path);
        let mut at = from.node;
        let mut done = from.next(path);
        let mut hops = from.hops;
        // Number of bytes at the end of `rest` that belong to the path. The bytes before them came from links.
        let mut own = path.len() - done;
        while done < rest.len() {
            let (name, next) = component(&rest, done);
            let linked = rest.len() - done > own;
            let node = match from.order {
                Order::UpTo(node) if self.is_named(node, at, name) => node,
                _ => self.step(at, name, linked)?,
            };
            let Some(target) = self.symlink(node) else {
                let directory = self.enter(node)?;
                if self.store.node(directory).parent == at {
                    self.store.enter(at, directory);
                }
                at = directory;
                done = next;
                let left = rest.len() - done;
                if left <= own {
                    let slash = usize::from(left > 0);
                    note(WalkPosition { done: path.len() - left - slash, node: at, hops, order: self.order(at, hops) });
                    own = left;
                }
                continue;
            };
            hops += 1;
            if hops > LINK_HOPS_MAX {
                return Err(Fault::TooManySymlinks);
            }
            own = own.min(rest.len().saturating_sub(next));
            if target.first() == Some(&b'/') {
                at = ROOT;
            }
            let rest_of_path = rest.get(next..).unwrap_or_default();
            rest = Cow::Owned([target, rest_of_path].join(&b'/'));
            done = 0;
        }
        Ok(at)
    }

    fn is_named(&self, node: NodeId, parent: NodeId, name: &[u8]) -> bool {
        self.store.node(node).parent == parent && self.store.name(node) == name
    }

    /// The order of a directory that was entered. Unknown after symbolic links, because the directory may then be on the way twice,
    /// and in a tree of layers, where names may be hidden.
    fn order(&self, directory: NodeId, hops: u32) -> Order {
        let empty = self.store.inode_of(directory).data == 0;
        if empty && hops == 0 && self.store.layers.is_none() { Order::Empty } else { Order::Unknown }
    }

    fn step(&mut self, at: NodeId, name: &[u8], linked: bool) -> Result<NodeId, Fault> {
        match name {
            b"" | b"." => return Ok(at),
            b".." => return Ok(self.store.node(at).parent),
            _ => {}
        }
        match (self.lookup.find(self.store, at, name), self.missing) {
            (Some(node), _) => Ok(node),
            (None, Missing::Make(meta)) if !linked => self.make(at, name, meta),
            (None, _) => Err(Fault::ParentMissing(below(self.store, at, name))),
        }
    }

    fn make(&mut self, at: NodeId, name: &[u8], meta: Meta) -> Result<NodeId, Fault> {
        let inode = self.store.push_inode(Inode::new(Type::Dir, meta, super::NO_XATTR, 0, 0))?;
        self.name(at, name, inode)
    }

    /// Adds a name that does not exist yet.
    pub fn name(&mut self, parent: NodeId, name: &[u8], inode: InodeId) -> Result<NodeId, Fault> {
        self.store.push_node(parent, name, inode)
    }

    fn symlink(&self, node: NodeId) -> Option<&[u8]> {
        let inode = self.store.inode_of(node);
        (inode.kind == Type::Symlink).then(|| self.store.target(inode))
    }

    fn enter(&self, node: NodeId) -> Result<NodeId, Fault> {
        match self.store.inode_of(node).kind {
            Type::Dir => Ok(node),
            _ => Err(Fault::ParentNotDirectory(self.store.path(node))),
        }
    }
}

fn below(store: &Store, at: NodeId, name: &[u8]) -> Vec<u8> {
    let mut path = store.path(at);
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// The component that starts at `from`, and the start of the next component (at most the length of `path`).
fn component(path: &[u8], from: usize) -> (&[u8], usize) {
    let length = memchr::memchr(b'/', &path[from..]).unwrap_or(path.len() - from);
    (&path[from..from + length], (from + length + 1).min(path.len()))
}

/// Splits a canonical path into its parent's path and its last name.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}
