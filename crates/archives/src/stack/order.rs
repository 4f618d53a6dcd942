//! The order of the entries of a merged tree: the order of a directory source, or an order with arranged contents.

use packline_tree::{Content, Keep, KeepRule, NodeId, Tree};

use super::merge::Merged;

pub(super) struct Order {
    names: Vec<NodeId>,
    /// The first name of each inode in this order. The root, for an inode without one.
    firsts: Vec<NodeId>,
}

impl Order {
    /// Depth first and by the bytes of names, with only the kept entries.
    pub fn new(tree: &Tree, rule: &KeepRule) -> Order {
        let mut order = Order { names: Vec::new(), firsts: vec![tree.root(); tree.inode_count()] };
        let mut path = Vec::new();
        let mut stack = Vec::new();
        if order.visit(tree, tree.root(), &path, rule) {
            stack.push((tree.root(), 0, 0));
        }
        while let Some((directory, next, length)) = stack.last_mut() {
            path.truncate(*length);
            let Some(child) = tree.children(*directory).get(*next).copied() else {
                stack.pop();
                continue;
            };
            *next += 1;
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(tree.name(child));
            if order.visit(tree, child, &path, rule) {
                stack.push((child, 0, path.len()));
            }
        }
        order.names.shrink_to_fit();
        order
    }

    pub fn memory(&self) -> usize {
        (self.names.capacity() + self.firsts.capacity()) * size_of::<NodeId>()
    }

    pub fn get(&self, at: usize) -> Option<NodeId> {
        self.names.get(at).copied()
    }

    /// The first name of the inode that a name has.
    pub fn first(&self, tree: &Tree, node: NodeId) -> NodeId {
        self.firsts[tree.inode(node).index()]
    }

    /// The numbers of all files, in the order of their first names.
    pub fn files<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = u32> + 'a {
        let first = self.names.iter().filter(|node| self.first(tree, **node) == **node);
        first.filter_map(
            |node| if let Content::File(file) = tree.content(tree.inode(*node)) { Some(file) } else { None },
        )
    }

    /// Removes the first names of files, for [`Order::append`].
    pub fn take_files(&mut self, tree: &Tree) -> Vec<NodeId> {
        let firsts = &self.firsts;
        let is_file = |node: &NodeId| matches!(tree.content(tree.inode(*node)), Content::File(_));
        let files = self.names.extract_if(.., |node| is_file(node) && firsts[tree.inode(*node).index()] == *node);
        files.collect()
    }

    /// Adds names after all others.
    pub fn append(&mut self, names: &[NodeId]) {
        self.names.extend_from_slice(names);
    }

    /// Total bytes of all contents.
    pub fn bytes(&self, merged: &Merged) -> u64 {
        self.files(&merged.tree).map(|file| merged.files.size(file)).fold(0, u64::saturating_add)
    }

    /// Adds a name if it is kept. Returns whether entries below it may be kept.
    fn visit(&mut self, tree: &Tree, node: NodeId, path: &[u8], rule: &KeepRule) -> bool {
        let inode = tree.inode(node);
        let directory = tree.content(inode) == Content::Dir;
        let keep = rule(path, directory);
        if keep == Keep::Yes {
            self.names.push(node);
            let first = &mut self.firsts[inode.index()];
            *first = if *first == tree.root() { node } else { *first };
        }
        directory && keep != Keep::Prune
    }
}
