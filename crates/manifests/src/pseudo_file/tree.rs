//! The tree of all paths in definitions. Each component occurs once, so that memory grows with the text, not with the depth of paths.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use packline_tree::path::upwards;
use packline_tree::{Bytes, Xattr};

use super::Position;
use super::definition::Added;

/// Whether the source, or an entry created here, has a path already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    No,
    Directory,
    Other,
}

pub(super) struct Node {
    name: Bytes,
    pub parent: usize,
    pub children: BTreeMap<Bytes, usize>,
    pub added: Option<Added>,
    pub xattrs: Vec<Xattr>,
    /// The position of the definition, or of the first line with this component if it has no definition.
    pub position: Position,
    pub existing: Existing,
    /// The node at whose path the entry defined here was first returned.
    pub first: Option<usize>,
}

pub(super) const ROOT: usize = 0;

/// The nodes in the order of their first lines, each directory before the nodes below it.
pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    pub fn new() -> Nodes {
        Nodes(vec![Node::new(Bytes::new(), ROOT, Position::default())])
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the node at a canonical path. Missing nodes are added, including those above it.
    pub fn insert(&mut self, path: &[u8], position: Position) -> usize {
        components(path).fold(ROOT, |at, name| match self.0[at].children.get(name).copied() {
            Some(child) => child,
            None => {
                let child = self.0.len();
                self.0.push(Node::new(name.to_vec(), at, position));
                self.0[at].children.insert(name.to_vec(), child);
                child
            }
        })
    }

    pub fn find(&self, path: &[u8]) -> Option<usize> {
        components(path).try_fold(ROOT, |at, name| self.0[at].children.get(name).copied())
    }

    /// Marks the node at the path of an entry as existing, and the nodes above it as directories. Returns the node.
    pub fn mark_existing(&mut self, path: &[u8], existing: Existing) -> Option<usize> {
        let mut at = ROOT;
        for name in components(path) {
            if self.0[at].existing == Existing::No {
                self.0[at].existing = Existing::Directory;
            }
            at = *self.0[at].children.get(name)?;
        }
        self.0[at].existing = existing;
        Some(at)
    }

    pub fn path(&self, node: usize) -> Bytes {
        upwards(node, |at| (at != ROOT).then(|| (&self.0[at].name[..], self.0[at].parent)))
    }
}

impl Node {
    fn new(name: Bytes, parent: usize, position: Position) -> Node {
        let children = BTreeMap::new();
        let xattrs = Vec::new();
        Node { name, parent, children, added: None, xattrs, position, existing: Existing::No, first: None }
    }
}

impl Index<usize> for Nodes {
    type Output = Node;

    fn index(&self, node: usize) -> &Node {
        &self.0[node]
    }
}

impl IndexMut<usize> for Nodes {
    fn index_mut(&mut self, node: usize) -> &mut Node {
        &mut self.0[node]
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}
