//! Collects entries into one tree, as if they were extracted in order: the last of two entries at one path is kept.
//!
//! Repeated paths have the same effect as extracting with GNU tar 1.34 (tested with that version):
//!
//! | existing | new | result |
//! |---|---|---|
//! | directory | directory | the entries stay, the attributes of the last are kept |
//! | not a directory | not a directory | replaced; other hard links to the old entry keep its inode |
//! | empty directory | not a directory | replaced |
//! | directory with entries | not a directory | error (tar: `File exists`) |
//! | anything else, also a symbolic link to a directory | directory | replaced |
//! | anything except a directory or symbolic link | an entry below it | error (tar: `Not a directory`) |
//! | symbolic link to an existing directory | an entry below it | added to that directory |
//! | symbolic link to a missing path | an entry below it | error (tar: `No such file or directory`) |
//! | a name | a hard link to itself | no effect |
//!
//! Two cases go beyond tar:
//!
//! - A parent may be a symbolic link with an absolute target or with `..`. The link is followed within the tree, as if the tree were
//!   the root file system: an absolute target starts at the tree's root, and `..` stops there. tar defers such links to the end and
//!   fails below them.
//! - A hard link may precede its target. A link to an existing name refers to that name's inode at once, so that replacing the name
//!   later does not change the link. Any other link is resolved at the end, to the target's final inode.
//!
//! A tree of layers ([`Namespace::layered`]) equals the result of extracting the layers in order, with two differences from the
//! table. Any entry that is not a directory replaces a directory with all its content, as in umoci and podman. [`Namespace::hide`] and
//! [`Namespace::hide_below`] remove entries of lower layers, at any point within a layer. A hard link whose target is missing in
//! its own layer and in lower layers is an error at the end of the layer.
//!
//! Cost: an entry needs one table look-up, and one more for each directory above it that is not also above the previous entry. An
//! entry whose name comes after all other names in its directory needs none. No cost grows with the number of names in a directory
//! or of links. Memory: 12 bytes for a name, 40 for an inode, 5 to 11 in the table, and the bytes of names and targets; with layers
//! 4 more bytes for a name.

mod error;
mod layers;
mod links;
mod recent;
mod resolve;
mod store;
mod tree;

pub use error::{Fault, LINK_HOPS_MAX, NAME_MAX, NamespaceError, PATH_MAX, TARGET_MAX};
pub use store::{InodeId, NodeId};
pub use tree::{Content, Tree};

use crate::{Bytes, Entry, Kind, Meta};
use layers::Layers;
use recent::{Order, Recent};
use resolve::{Lookup, Missing, Walk, split};
use store::{ROOT, Store, Type};

/// The index of an attribute set that means no attributes, for [`Namespace::add`].
pub const NO_XATTR: u32 = u32::MAX;

/// A tree under construction. The module's description defines the effect of repeated paths.
pub struct Namespace {
    store: Store,
    lookup: Lookup,
    defaults: Meta,
    /// Hard links whose target was missing, in order. Some may have been replaced since.
    pending: Vec<NodeId>,
    recent: Recent,
    replaced: Replaced,
}

/// Entries that are not in the tree because later layers have other entries at their paths. A replaced directory counts as one
/// entry with all its content. Entries hidden by whiteouts and merged directories do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replaced {
    pub count: u64,
    /// The paths of the first replaced entries.
    pub first: Vec<Bytes>,
}

/// Maximum number of replaced entries that are named.
const NAMED_MOST: usize = 3;

/// Result of [`Namespace::hide`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// An entry of the current layer, or a directory above such an entry.
    Entry,
    /// A component of the path is not a directory.
    NoDirectory,
}

/// The container's data of an entry.
#[derive(Clone, Copy)]
struct Added<'a> {
    entry: &'a Entry,
    payload: u32,
    xattr: u32,
}

impl Namespace {
    /// A tree with a root. The root and implied directories have the attributes `defaults`.
    pub fn new(defaults: Meta) -> Self {
        let store = Store::new(defaults);
        let lookup = Lookup::new();
        Self { store, lookup, defaults, pending: Vec::new(), recent: Recent::new(), replaced: Replaced::default() }
    }

    /// A tree for entries of layers, the lowest first.
    #[must_use]
    pub fn layered(mut self) -> Self {
        self.store.layers = Some(Layers::new());
        self.recent.clear();
        self
    }

    /// Sets attributes of the root that differ from those of implied directories.
    #[must_use]
    pub fn with_root(mut self, root: Meta) -> Self {
        self.store.inode_of_mut(ROOT).set_meta(root);
        self
    }

    /// Adds an entry. `payload` is the container's index of the content, for a regular file. `xattr` is the container's index of
    /// the attribute set, or [`NO_XATTR`]. Both are ignored for a hard link.
    ///
    /// After an error (see [`Fault`]) the tree remains usable, but may have new parent directories.
    pub fn add(&mut self, entry: &Entry, payload: u32, xattr: u32) -> Result<(), NamespaceError> {
        let added = Added { entry, payload, xattr };
        self.place(added).map_err(|fault| NamespaceError::new(&entry.path, fault))
    }

    /// Ends a layer; further entries are above it. Fails like [`Namespace::finish`].
    pub fn end_layer(&mut self) -> Result<(), NamespaceError> {
        self.resolve_links()?;
        self.recent.clear();
        let advanced = self.store.layers.as_mut().map_or(Ok(()), Layers::advance);
        advanced.map_err(|fault| NamespaceError::new(b"", fault))
    }

    /// Removes the entry of lower layers at a path. Entries of the current layer and the directories above them stay. Returns
    /// what remains at the path.
    pub fn hide(&mut self, path: &[u8]) -> Result<Left, NamespaceError> {
        self.hide_at(path).map_err(|fault| NamespaceError::new(path, fault))
    }

    /// Removes the entries of lower layers in the directory at a path, if it exists. Follows symbolic links to the directory.
    /// With `make`, creates a missing directory like an implied one.
    pub fn hide_below(&mut self, path: &[u8], make: bool) -> Result<(), NamespaceError> {
        self.hide_in(path, make).map_err(|fault| NamespaceError::new(path, fault))
    }

    /// The entries that were replaced so far.
    pub fn replaced(&self) -> &Replaced {
        &self.replaced
    }

    /// The inode of the entry at a path, if it is not a directory.
    pub fn inode_at(&mut self, path: &[u8]) -> Option<InodeId> {
        let node = links::find(&mut self.store, &mut self.lookup, path)?;
        let leaf = !matches!(self.store.inode_of(node).kind, Type::Dir | Type::Pending);
        leaf.then(|| self.store.node(node).inode)
    }

    /// Upper bound of the memory in bytes.
    pub fn memory(&self) -> usize {
        let pending = self.pending.capacity() * size_of::<NodeId>();
        self.store.memory() + self.lookup.memory(&self.store) + pending + self.recent.memory()
    }

    /// Completes the tree. Fails if a hard link's target is missing, is a directory, or leads back to the link.
    pub fn finish(mut self) -> Result<Tree, NamespaceError> {
        self.resolve_links()?;
        drop(self.lookup);
        let opaque = self.store.drop_hidden();
        tree::drop_unnamed(&mut self.store);
        Ok(Tree::new(self.store, opaque))
    }

    fn resolve_links(&mut self) -> Result<(), NamespaceError> {
        links::resolve(&mut self.store, &mut self.lookup, &self.pending)?;
        self.pending.clear();
        Ok(())
    }

    fn hide_at(&mut self, path: &[u8]) -> Result<Left, Fault> {
        check_path(path)?;
        self.recent.clear();
        let (parent, name) = split(path);
        let parent = match self.walk(Missing::Refuse).directory(parent) {
            Ok(parent) => parent,
            Err(Fault::ParentMissing(_)) => return Ok(Left::Nothing),
            Err(Fault::ParentNotDirectory(_)) => return Ok(Left::NoDirectory),
            Err(fault) => return Err(fault),
        };
        let Some(node) = self.lookup.find(&self.store, parent, name) else { return Ok(Left::Nothing) };
        if !self.store.layers.as_ref().is_some_and(|layers| layers.is_current(node)) {
            self.detach(node);
            return Ok(Left::Nothing);
        }
        if self.store.inode_of(node).kind == Type::Dir {
            self.cut(node);
        }
        Ok(Left::Entry)
    }

    fn hide_in(&mut self, path: &[u8], make: bool) -> Result<(), Fault> {
        check_path(path)?;
        self.recent.clear();
        let missing = if make { Missing::Make(self.defaults) } else { Missing::Refuse };
        match self.walk(missing).directory(path) {
            Ok(directory) => self.cut(directory),
            Err(Fault::ParentMissing(_) | Fault::ParentNotDirectory(_)) if !make => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    fn walk(&mut self, missing: Missing) -> Walk<'_> {
        Walk { store: &mut self.store, lookup: &mut self.lookup, missing }
    }

    fn cut(&mut self, directory: NodeId) {
        if let Some(layers) = &mut self.store.layers {
            layers.cut(directory);
        }
    }

    /// Removes a name, so that it can be added again.
    fn detach(&mut self, node: NodeId) {
        self.lookup.remove(&self.store, node);
        if let Some(layers) = &mut self.store.layers {
            layers.remove(node);
        }
    }

    fn place(&mut self, added: Added<'_>) -> Result<(), Fault> {
        check(added.entry)?;
        if added.entry.path.is_empty() {
            return self.root(added);
        }
        let (parent, name) = split(&added.entry.path);
        let parent = self.parent(parent, &added.entry.path)?;
        if self.comes_last(parent, name) {
            let node = self.first(parent, name, added)?;
            self.recent.added(node);
            return Ok(());
        }
        match self.lookup.find(&self.store, parent, name) {
            Some(node) => self.again(node, (parent, name), added),
            None => self.first(parent, name, added).map(drop),
        }
    }

    /// Whether a name is known to come after all names in its directory, the last that was looked up. Such a name is new.
    fn comes_last(&self, parent: NodeId, name: &[u8]) -> bool {
        let last = self.recent.last();
        match last.order {
            _ if last.node != parent => false,
            Order::Empty => true,
            Order::UpTo(last) => self.store.name(last) < name,
            Order::Unknown => false,
        }
    }

    fn root(&mut self, added: Added<'_>) -> Result<(), Fault> {
        match added.entry.kind {
            Kind::Dir => self.merge(ROOT, added),
            _ => return Err(Fault::RootNotDirectory),
        }
        Ok(())
    }

    /// The directory at `parent`, which is the parent of the entry at `path`. Checks the names of both unless they were checked
    /// before.
    fn parent(&mut self, parent: &[u8], path: &[u8]) -> Result<NodeId, Fault> {
        let known = self.recent.on_the_way(parent);
        path[known.next(path)..].split(|&byte| byte == b'/').try_for_each(check_name)?;
        let missing = Missing::Make(self.defaults);
        let names = self.store.nodes.len();
        let mut walk = Walk { store: &mut self.store, lookup: &mut self.lookup, missing };
        let directory = walk.directory_from(known, parent, &mut |place| self.recent.note(place));
        if self.store.nodes.len() > names || self.recent.last().hops > 0 {
            self.recent.forget_order();
        }
        directory
    }

    /// Adds a new name.
    fn first(&mut self, parent: NodeId, name: &[u8], added: Added<'_>) -> Result<NodeId, Fault> {
        let inode = self.inode(added)?;
        let node = self.walk(Missing::Refuse).name(parent, name, inode)?;
        self.note_pending(node);
        Ok(node)
    }

    /// Replaces an existing name.
    fn again(&mut self, node: NodeId, place: (NodeId, &[u8]), added: Added<'_>) -> Result<(), Fault> {
        let old = *self.store.inode_of(node);
        let layered = self.store.layers.is_some();
        match (old.kind, &added.entry.kind) {
            (Type::Dir, Kind::Dir) => {
                self.merge(node, added);
                return Ok(());
            }
            (Type::Dir, _) if layered => return self.replace_directory(node, place, added),
            (Type::Dir, _) if old.data > 0 => return Err(Fault::DirectoryNotEmpty),
            // The new entry hides entries below all layers, like the old one.
            (_, Kind::Dir) => self.cut(node),
            _ => {}
        }
        let inode = self.inode(added)?;
        if inode != self.store.node(node).inode {
            self.note_replaced(node, added.entry);
        }
        self.store.rebind(node, inode);
        self.store.touch(node);
        self.note_pending(node);
        // Paths through this name may now resolve differently.
        self.recent.clear();
        Ok(())
    }

    /// Replaces a directory with all its content.
    fn replace_directory(&mut self, node: NodeId, place: (NodeId, &[u8]), added: Added<'_>) -> Result<(), Fault> {
        let inode = self.inode(added)?;
        self.note_replaced(node, added.entry);
        self.detach(node);
        self.recent.clear();
        let node = self.walk(Missing::Refuse).name(place.0, place.1, inode)?;
        self.note_pending(node);
        Ok(())
    }

    /// Counts a replaced entry of an earlier layer.
    fn note_replaced(&mut self, node: NodeId, by: &Entry) {
        if self.store.layers.as_ref().is_some_and(|layers| !layers.is_current(node)) {
            self.replaced.count += 1;
            if self.replaced.first.len() < NAMED_MOST {
                self.replaced.first.push(by.path.clone());
            }
        }
    }

    fn merge(&mut self, node: NodeId, added: Added<'_>) {
        self.store.touch(node);
        let inode = self.store.inode_of_mut(node);
        inode.set_meta(added.entry.meta);
        inode.xattr = added.xattr;
    }

    /// The inode of an entry: the target's inode for a hard link to an existing name, and a new inode otherwise.
    fn inode(&mut self, added: Added<'_>) -> Result<InodeId, Fault> {
        if let Kind::HardLink(path) = &added.entry.kind
            && let Some(target) = links::find(&mut self.store, &mut self.lookup, path)
        {
            match self.store.inode_of(target).kind {
                Type::Dir => return Err(Fault::LinkToDirectory(path.clone())),
                Type::Pending => {}
                _ => return Ok(self.store.node(target).inode),
            }
        }
        let inode = self.store.make(&added.entry.kind, added.entry.meta, added.payload, added.xattr)?;
        self.store.push_inode(inode)
    }

    fn note_pending(&mut self, node: NodeId) {
        if self.store.inode_of(node).kind == Type::Pending {
            self.pending.push(node);
        }
    }
}

fn check(entry: &Entry) -> Result<(), Fault> {
    check_length(&entry.path)?;
    match &entry.kind {
        Kind::Symlink(target) if target.is_empty() => Err(Fault::EmptyTarget),
        Kind::Symlink(target) if target.len() > TARGET_MAX => Err(Fault::TargetTooLong(target.len())),
        Kind::HardLink(target) => check_length(target),
        _ => Ok(()),
    }
}

fn check_path(path: &[u8]) -> Result<(), Fault> {
    check_length(path)?;
    if path.is_empty() { Ok(()) } else { path.split(|&byte| byte == b'/').try_for_each(check_name) }
}

fn check_length(path: &[u8]) -> Result<(), Fault> {
    if path.len() > PATH_MAX { Err(Fault::PathTooLong(path.len())) } else { Ok(()) }
}

fn check_name(name: &[u8]) -> Result<(), Fault> {
    match name {
        b"" | b"." | b".." => Err(Fault::BadName(name.to_vec())),
        _ if name.len() > NAME_MAX => Err(Fault::NameTooLong(name.len())),
        _ if memchr::memchr(0, name).is_some() => Err(Fault::BadName(name.to_vec())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(names: &mut Namespace, path: &str, kind: Kind) {
        let meta = Meta::new(0o755, 0, 0, 0);
        let entry = Entry { path: path.into(), kind, meta, xattrs: Vec::new() };
        names.add(&entry, 0, NO_XATTR).unwrap();
    }

    #[test]
    fn sorted_entries_are_added_without_a_table() {
        let mut names = Namespace::new(Meta::new(0o755, 0, 0, 0));
        let file = || Kind::File { size: 0 };
        add(&mut names, "", Kind::Dir);
        for directory in ["a", "b"] {
            add(&mut names, directory, Kind::Dir);
            add(&mut names, &format!("{directory}/c"), Kind::Dir);
            add(&mut names, &format!("{directory}/c/d"), file());
            add(&mut names, &format!("{directory}/e"), file());
        }
        let with_table = names.memory();
        assert!(names.lookup.is_empty());
        add(&mut names, "b/f", Kind::HardLink("a/c/d".into()));
        add(&mut names, "a/c/d", file());
        assert!(!names.lookup.is_empty());
        assert!(names.memory() >= with_table);
        assert_eq!(names.finish().unwrap().node_count(), 10);
    }
}
