//! The tree that actions change. Names of one file share its attributes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use packline_tree::{Bytes, Entry, Error, HostFile, Kind, Meta, Xattr};

/// An entry and where it is on this machine.
#[derive(Debug, Clone)]
pub struct ActionEntry {
    pub entry: Entry,
    /// The file that has the content.
    pub file: Option<HostFile>,
    /// `None` for an entry that is on no machine: a new root.
    pub place: Option<PathBuf>,
}

/// How a file is stored, where that differs from other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStorage {
    /// Whether parts of it may be packed with those of other files.
    pub fragments: Option<bool>,
    /// Whether the tail end of a file larger than a block is.
    pub tail_ends: Option<bool>,
    pub compressed: Option<bool>,
    /// Its data begins at a multiple of so many bytes, and none of it is packed with that of other files.
    pub alignment: Option<u32>,
    /// Parts of it are packed only with those of files that have the same number.
    pub fragment_set: u16,
}

pub(super) type NodeId = usize;

pub(super) const ROOT: NodeId = 0;

pub(super) struct Node {
    pub name: Bytes,
    pub parent: Option<NodeId>,
    pub children: BTreeMap<Bytes, NodeId>,
    pub inode: usize,
    pub removed: bool,
    /// There was no entry for it, and none is made.
    pub implied: bool,
    /// Something in the directory was left out by an action.
    pub lost_entries: bool,
}

pub(super) struct Inode {
    /// Never a hard link.
    pub kind: Kind,
    pub meta: Meta,
    pub xattrs: Vec<Xattr>,
    pub file: Option<HostFile>,
    pub place: Option<PathBuf>,
    pub storage: FileStorage,
}

pub(super) struct Tree {
    nodes: Vec<Node>,
    pub inodes: Vec<Inode>,
}

impl Tree {
    pub fn new(entries: Vec<ActionEntry>) -> Result<Tree, Error> {
        let mut tree = Tree { nodes: Vec::new(), inodes: Vec::new() };
        tree.push(None, Bytes::new(), implied());
        tree.nodes[ROOT].implied = true;
        let mut links = Vec::new();
        for ActionEntry { entry: Entry { path, kind, meta, xattrs }, file, place } in entries {
            let node = tree.node_at(&path);
            tree.nodes[node].implied = false;
            if let Kind::HardLink(target) = &kind {
                links.push((node, target.clone()));
            }
            let inode = tree.nodes[node].inode;
            tree.inodes[inode] = Inode { kind, meta, xattrs, file, place, storage: FileStorage::default() };
        }
        for (node, target) in links {
            tree.nodes[node].inode = tree.target(&target).ok_or_else(|| tree.dangling(node, &target))?;
        }
        Ok(tree)
    }

    fn push(&mut self, parent: Option<NodeId>, name: Bytes, inode: Inode) -> NodeId {
        let id = self.nodes.len();
        let node = Node {
            name,
            parent,
            children: BTreeMap::new(),
            inode: self.inodes.len(),
            removed: false,
            implied: true,
            lost_entries: false,
        };
        self.inodes.push(inode);
        self.nodes.push(node);
        id
    }

    /// The node at a canonical path, which is made if it is missing.
    pub fn node_at(&mut self, path: &[u8]) -> NodeId {
        let mut at = ROOT;
        for name in names(path) {
            at = match self.nodes[at].children.get(name) {
                Some(child) => *child,
                None => {
                    let child = self.push(Some(at), name.to_vec(), implied());
                    self.nodes[at].children.insert(name.to_vec(), child);
                    child
                }
            };
        }
        at
    }

    /// The inode that a hard link to a path is a name of.
    pub fn target(&self, path: &[u8]) -> Option<usize> {
        let node = names(path).try_fold(ROOT, |at, name| self.nodes[at].children.get(name).copied())?;
        let inode = self.nodes[node].inode;
        (!matches!(self.inodes[inode].kind, Kind::HardLink(_) | Kind::Dir)).then_some(inode)
    }

    pub fn dangling(&self, node: NodeId, target: &[u8]) -> Error {
        Error::Entry {
            input: "actions".to_string(),
            entry: self.path(node)[1..].to_vec(),
            what: format!("hard link to '{}'", packline_runtime::escape::Escape::escaped(target)),
            expected: "another name of the file".to_string(),
        }
    }

    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node]
    }

    pub fn node_mut(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[node]
    }

    pub fn inode(&self, node: NodeId) -> &Inode {
        &self.inodes[self.nodes[node].inode]
    }

    pub fn inode_mut(&mut self, node: NodeId) -> &mut Inode {
        &mut self.inodes[self.nodes[node].inode]
    }

    pub fn is_directory(&self, node: NodeId) -> bool {
        self.inode(node).kind == Kind::Dir
    }

    /// The path in the image, with a leading slash.
    pub fn path(&self, node: NodeId) -> Bytes {
        let mut names = Vec::new();
        let mut at = node;
        while let Some(parent) = self.nodes[at].parent {
            names.push(self.nodes[at].name.as_slice());
            at = parent;
        }
        names.iter().rev().fold(Bytes::new(), |path, name| [&path, &b"/"[..], name].concat()).max(b"/".to_vec())
    }

    /// Number of names of the path; 0 for the root.
    pub fn depth(&self, node: NodeId) -> usize {
        std::iter::successors(self.nodes[node].parent, |at| self.nodes[*at].parent).count()
    }

    /// Whether a node is a directory or somewhere below it.
    pub fn is_within(&self, node: NodeId, directory: NodeId) -> bool {
        std::iter::successors(Some(node), |at| self.nodes[*at].parent).any(|at| at == directory)
    }

    /// All nodes but the root, each directory before what it contains, by name.
    pub fn top_down(&self) -> Vec<NodeId> {
        let mut open = vec![ROOT];
        let mut order = Vec::new();
        while let Some(node) = open.pop() {
            order.extend((node != ROOT).then_some(node));
            open.extend(self.nodes[node].children.values().rev());
        }
        order
    }

    /// All nodes but the root, each directory after what it contains, by name.
    pub fn bottom_up(&self) -> Vec<NodeId> {
        // Backwards: each directory before what it contains, by falling names.
        let mut open = vec![ROOT];
        let mut order = Vec::new();
        while let Some(node) = open.pop() {
            order.extend((node != ROOT).then_some(node));
            open.extend(self.nodes[node].children.values());
        }
        order.reverse();
        order
    }

    /// Removes a node with everything below it.
    pub fn remove(&mut self, node: NodeId) {
        if let Some(parent) = self.detach(node) {
            self.nodes[parent].lost_entries = true;
        }
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            self.nodes[node].removed = true;
            open.extend(self.nodes[node].children.values());
        }
    }

    /// Moves a node to another directory and name, which must be free.
    pub fn rename(&mut self, node: NodeId, directory: NodeId, name: Bytes) {
        self.detach(node);
        self.nodes[directory].children.insert(name.clone(), node);
        self.nodes[node].parent = Some(directory);
        self.nodes[node].name = name;
    }

    fn detach(&mut self, node: NodeId) -> Option<NodeId> {
        let parent = self.nodes[node].parent?;
        let name = std::mem::take(&mut self.nodes[node].name);
        self.nodes[parent].children.remove(&name);
        self.nodes[node].name = name;
        Some(parent)
    }

    /// Nodes that are entries, in the order of the list, each with whether it is the first name of its file.
    pub fn names(&self) -> Vec<(NodeId, bool)> {
        let mut seen = vec![false; self.inodes.len()];
        let live = self.nodes.iter().enumerate().filter(|(_, node)| !node.removed && !node.implied);
        live.map(|(id, node)| (id, !std::mem::replace(&mut seen[node.inode], true))).collect()
    }

    /// The entries in the order of the list that the tree was made of.
    pub fn into_entries(mut self) -> Vec<(ActionEntry, FileStorage)> {
        let mut first: Vec<Option<Bytes>> = vec![None; self.inodes.len()];
        let mut entries = Vec::new();
        for (id, is_first) in self.names() {
            let path = self.path(id)[1..].to_vec();
            let at = self.nodes[id].inode;
            let inode = &mut self.inodes[at];
            let storage = inode.storage;
            let (kind, file) = match (is_first, &first[at]) {
                (false, Some(first)) => (Kind::HardLink(first.clone()), None),
                _ => (inode.kind.clone(), inode.file.take()),
            };
            if is_first {
                first[at] = Some(path.clone());
            }
            let xattrs = if is_first { std::mem::take(&mut inode.xattrs) } else { Vec::new() };
            let entry = Entry { path, kind, meta: inode.meta, xattrs };
            entries.push((ActionEntry { entry, file, place: inode.place.clone() }, storage));
        }
        entries
    }
}

fn implied() -> Inode {
    Inode {
        kind: Kind::Dir,
        meta: Meta { mode: 0o755, uid: 0, gid: 0, mtime: 0 },
        xattrs: Vec::new(),
        file: None,
        place: None,
        storage: FileStorage::default(),
    }
}

pub(super) fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}
