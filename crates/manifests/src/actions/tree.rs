//! The tree that actions change. All names of a file share its attributes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use packline_tree::{Bytes, Entry, Error, HostFile, Kind, Meta, Xattr};

/// An entry and its place on this machine.
#[derive(Debug, Clone)]
pub struct ActionEntry {
    pub entry: Entry,
    /// The host file with the content.
    pub file: Option<HostFile>,
    /// `None` for an entry that does not exist on this machine, such as a new root.
    pub place: Option<PathBuf>,
}

/// How a file is stored differently from other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStorage {
    /// Whether parts of the file may be packed with parts of other files.
    pub fragments: Option<bool>,
    /// Whether the tail end may be packed with others if the file is larger than a block.
    pub tail_ends: Option<bool>,
    pub compressed: Option<bool>,
    /// The data begins at a multiple of this number of bytes, and none of it is packed with data of other files.
    pub alignment: Option<u32>,
    /// Parts of the file are packed only with parts of files that have the same number.
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
    /// The directory is only the parent of an entry: the list has no entry for it, and none is added.
    pub implied: bool,
    /// An action removed an entry of the directory.
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

    /// Returns the node at a canonical path. A missing node is added.
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

    /// The inode of the target of a hard link.
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

    /// The number of names in the path; 0 for the root.
    pub fn depth(&self, node: NodeId) -> usize {
        std::iter::successors(self.nodes[node].parent, |at| self.nodes[*at].parent).count()
    }

    /// Whether a node is `directory` or below it.
    pub fn is_within(&self, node: NodeId, directory: NodeId) -> bool {
        std::iter::successors(Some(node), |at| self.nodes[*at].parent).any(|at| at == directory)
    }

    /// All nodes except the root, sorted by name, each directory before its entries.
    pub fn top_down(&self) -> Vec<NodeId> {
        let mut open = vec![ROOT];
        let mut order = Vec::new();
        while let Some(node) = open.pop() {
            order.extend((node != ROOT).then_some(node));
            open.extend(self.nodes[node].children.values().rev());
        }
        order
    }

    /// All nodes except the root, sorted by name, each directory after its entries.
    pub fn bottom_up(&self) -> Vec<NodeId> {
        // Built in reverse: each directory before its entries, names in descending order.
        let mut open = vec![ROOT];
        let mut order = Vec::new();
        while let Some(node) = open.pop() {
            order.extend((node != ROOT).then_some(node));
            open.extend(self.nodes[node].children.values());
        }
        order.reverse();
        order
    }

    /// Removes a node and everything below it.
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

    /// Moves a node to a free name in a directory.
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

    /// The nodes that are entries, in the order of the list. The flag says whether the node is the first name of its file.
    pub fn names(&self) -> Vec<(NodeId, bool)> {
        let mut seen = vec![false; self.inodes.len()];
        let live = self.nodes.iter().enumerate().filter(|(_, node)| !node.removed && !node.implied);
        live.map(|(id, node)| (id, !std::mem::replace(&mut seen[node.inode], true))).collect()
    }

    /// The entries in the order of the original list.
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
        meta: Meta::new(0o755, 0, 0, 0),
        xattrs: Vec::new(),
        file: None,
        place: None,
        storage: FileStorage::default(),
    }
}

pub(super) fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}
