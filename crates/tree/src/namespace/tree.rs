//! The finished tree: all names with their inodes, and directories with sorted entries.

use super::store::{Inode, InodeId, NodeId, ROOT, Store, Type};
use crate::{Device, Meta};

/// Type-specific data of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// A regular file, and its payload.
    File(u32),
    Dir,
    /// A symbolic link, and its unchanged target.
    Symlink(&'a [u8]),
    BlockDevice(Device),
    CharDevice(Device),
    Fifo,
    Socket,
}

/// The tree of all entries. Names and inodes are numbered densely from 0 in the order of their first entries. The root comes
/// first.
pub struct Tree {
    store: Store,
    /// All names except the root, grouped by directory and sorted within a directory.
    children: Vec<NodeId>,
    /// The start of each name's group in `children`, and the end of the last group.
    starts: Vec<u32>,
    /// Directories that hide entries below all layers, sorted.
    opaque: Vec<NodeId>,
}

impl Tree {
    /// Sorts the names. Every inode must have a name, and no inode may be pending.
    pub(super) fn new(mut store: Store, opaque: Vec<NodeId>) -> Self {
        store.shrink();
        let starts = group_starts(&store);
        let mut children = grouped(&store, &starts);
        for pair in starts.windows(2) {
            children[pair[0] as usize..pair[1] as usize].sort_unstable_by(|&a, &b| store.name(a).cmp(store.name(b)));
        }
        Self { store, children, starts, opaque }
    }

    /// The memory in bytes.
    pub fn memory(&self) -> usize {
        self.store.memory() + (self.children.capacity() + self.starts.capacity()) * size_of::<u32>()
    }

    pub fn root(&self) -> NodeId {
        ROOT
    }

    /// Number of names, including the root.
    pub fn node_count(&self) -> usize {
        self.store.nodes.len()
    }

    /// Number of inodes. At least one.
    pub fn inode_count(&self) -> usize {
        self.store.inodes.len()
    }

    /// All names, in the order of their first entries. A directory comes before its entries.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.store.nodes.len() as u32).map(NodeId)
    }

    /// All inodes, in the order of their first entries.
    pub fn inodes(&self) -> impl ExactSizeIterator<Item = InodeId> + use<> {
        (0..self.store.inodes.len() as u32).map(InodeId)
    }

    /// The names in a directory, sorted by their bytes. Empty for any other entry.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        &self.children[self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize]
    }

    /// The directory of a name. The root is its own directory.
    pub fn parent(&self, node: NodeId) -> NodeId {
        self.store.node(node).parent
    }

    /// The bytes of the name, 1 to 255. Empty for the root.
    pub fn name(&self, node: NodeId) -> &[u8] {
        self.store.name(node)
    }

    /// The canonical path. Empty for the root.
    pub fn path(&self, node: NodeId) -> Vec<u8> {
        self.store.path(node)
    }

    /// Whether it is a directory of layers that hides entries below all layers: the layers hid its content, or replaced another
    /// entry by it.
    pub fn is_opaque(&self, node: NodeId) -> bool {
        self.opaque.binary_search(&node).is_ok()
    }

    pub fn inode(&self, node: NodeId) -> InodeId {
        self.store.node(node).inode
    }

    /// Permissions, owner, time.
    pub fn meta(&self, inode: InodeId) -> Meta {
        self.store.inode(inode).meta()
    }

    pub fn content(&self, inode: InodeId) -> Content<'_> {
        let inode = self.store.inode(inode);
        match inode.kind {
            Type::File => Content::File(inode.data),
            Type::Dir => Content::Dir,
            // No inode is pending here, because `finish` has resolved or rejected each.
            Type::Symlink | Type::Pending => Content::Symlink(self.store.target(inode)),
            Type::BlockDevice => Content::BlockDevice(inode.device()),
            Type::CharDevice => Content::CharDevice(inode.device()),
            Type::Fifo => Content::Fifo,
            Type::Socket => Content::Socket,
        }
    }

    /// The index of the attribute set, or [`super::NO_XATTR`].
    pub fn xattr(&self, inode: InodeId) -> u32 {
        self.store.inode(inode).xattr
    }

    /// Replaces the index of the attribute set.
    pub fn set_xattr(&mut self, inode: InodeId, set: u32) {
        self.store.inodes[inode.index()].xattr = set;
    }

    /// Number of names. 1 for a directory.
    pub fn links(&self, inode: InodeId) -> u32 {
        self.store.inode(inode).links
    }
}

fn group_starts(store: &Store) -> Vec<u32> {
    let mut starts = Vec::with_capacity(store.nodes.len() + 1);
    let mut sum = 0;
    for node in 0..store.nodes.len() as u32 {
        starts.push(sum);
        let inode = store.inode_of(NodeId(node));
        sum += if inode.kind == Type::Dir { inode.data } else { 0 };
    }
    starts.push(sum);
    starts
}

fn grouped(store: &Store, starts: &[u32]) -> Vec<NodeId> {
    let mut next = starts.to_vec();
    let mut children = vec![ROOT; store.nodes.len() - 1];
    for (id, node) in store.nodes.iter().enumerate().skip(1) {
        let slot = &mut next[node.parent.index()];
        children[*slot as usize] = NodeId(id as u32);
        *slot += 1;
    }
    children
}

/// Removes inodes without names. The others keep their order.
pub(super) fn drop_unnamed(store: &mut Store) {
    if store.inodes.iter().all(|inode| inode.links > 0) {
        return;
    }
    let places = new_places(&store.inodes);
    store.inodes.retain(|inode| inode.links > 0);
    for node in &mut store.nodes {
        node.inode = InodeId(places[node.inode.index()]);
    }
}

fn new_places(inodes: &[Inode]) -> Vec<u32> {
    let place = |next: &mut u32, inode: &Inode| {
        let here = *next;
        *next += u32::from(inode.links > 0);
        Some(here)
    };
    inodes.iter().scan(0, place).collect()
}
