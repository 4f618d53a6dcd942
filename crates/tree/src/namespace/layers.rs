//! Layers of a tree: the layer of each name, and the names of lower layers that are hidden.
//!
//! Hiding removes nothing. A name records the last layer that touched it or anything below it, and a directory records the oldest
//! layer whose names are visible in it. Older names, and everything below them, are not found. Hiding therefore takes the same
//! time for a directory of any size. [`Store::drop_hidden`] removes the names at the end.

use std::collections::BTreeMap;

use packline_runtime::push_tight;

use super::error::Fault;
use super::store::{InodeId, Node, NodeId, ROOT, Store, Type};

/// The layer of a removed name. The first layer is 1.
const REMOVED: u16 = 0;

pub(super) struct Layers {
    now: u16,
    /// Indexed by name.
    ages: Vec<Age>,
    /// Directories in which names of layers before this one are hidden.
    cuts: BTreeMap<NodeId, u16>,
}

#[derive(Clone, Copy)]
struct Age {
    /// The last layer that touched the name or anything below it.
    layer: u16,
    /// The oldest visible layer, if the name is a directory that was entered. Its own cut and the cuts above it determine this
    /// layer.
    oldest: u16,
}

impl Layers {
    /// The layers of a tree with only a root.
    pub fn new() -> Self {
        Self { now: 1, ages: vec![Age { layer: 1, oldest: 1 }], cuts: BTreeMap::new() }
    }

    pub fn memory(&self) -> usize {
        // An entry of a map, including its share of the nodes.
        self.ages.capacity() * size_of::<Age>() + self.cuts.len() * 16
    }

    /// Starts the next layer.
    pub fn advance(&mut self) -> Result<(), Fault> {
        self.now = self.now.checked_add(1).ok_or(Fault::TooMany)?;
        Ok(())
    }

    /// Whether the current layer has touched a name.
    pub fn is_current(&self, node: NodeId) -> bool {
        self.age(node).layer == self.now
    }

    /// Adds a new name in a directory.
    pub fn push(&mut self, nodes: &[Node], parent: NodeId) {
        push_tight(&mut self.ages, Age { layer: self.now, oldest: 1 });
        self.touch(nodes, parent);
    }

    /// Records that the current layer touches a name, and so the directories above it.
    pub fn touch(&mut self, nodes: &[Node], node: NodeId) {
        let mut at = node;
        while !self.is_current(at) {
            self.ages[at.index()].layer = self.now;
            at = nodes[at.index()].parent;
        }
    }

    pub fn remove(&mut self, node: NodeId) {
        self.ages[node.index()].layer = REMOVED;
    }

    /// Hides the entries of lower layers in a directory.
    pub fn cut(&mut self, directory: NodeId) {
        self.cuts.insert(directory, self.now);
        self.ages[directory.index()].oldest = self.now;
    }

    /// Enters a visible directory from its parent, which has been entered since the last cut.
    pub fn enter(&mut self, parent: NodeId, directory: NodeId) {
        let cut = self.cuts.get(&directory).copied().unwrap_or(1);
        self.ages[directory.index()].oldest = cut.max(self.age(parent).oldest);
    }

    /// Whether a name in an entered directory is visible.
    pub fn shows(&self, parent: NodeId, node: NodeId) -> bool {
        self.age(node).layer >= self.age(parent).oldest
    }

    fn age(&self, node: NodeId) -> Age {
        self.ages[node.index()]
    }
}

impl Store {
    /// Removes hidden names, and everything that only they lead to. The other names keep their order. Returns the directories
    /// that hide entries below all layers.
    pub fn drop_hidden(&mut self) -> Vec<NodeId> {
        let Some(mut layers) = self.layers.take() else { return Vec::new() };
        let numbers = new_numbers(&self.nodes, &mut layers);
        let mut at = 0;
        self.nodes.retain(|_| {
            at += 1;
            numbers[at - 1].is_some()
        });
        for node in &mut self.nodes {
            node.parent = numbers[node.parent.index()].unwrap_or(ROOT);
        }
        self.count();
        let is_directory = |node: &NodeId| self.inode_of(*node).kind == Type::Dir;
        layers.cuts.keys().filter_map(|node| numbers[node.index()]).filter(is_directory).collect()
    }

    /// Counts the names of each inode, and the entries of each directory.
    fn count(&mut self) {
        for inode in &mut self.inodes {
            inode.links = 0;
            inode.data = if inode.kind == Type::Dir { 0 } else { inode.data };
        }
        self.inodes[self.nodes[ROOT.index()].inode.index()].links = 1;
        for at in 1..self.nodes.len() {
            let Node { parent, inode: InodeId(inode), .. } = self.nodes[at];
            self.inodes[inode as usize].links += 1;
            self.inode_of_mut(parent).data += 1;
        }
    }
}

/// The new number of each visible name. A directory has a lower number than its entries.
fn new_numbers(nodes: &[Node], layers: &mut Layers) -> Vec<Option<NodeId>> {
    let mut numbers = Vec::<Option<NodeId>>::with_capacity(nodes.len());
    let mut next = 0;
    for (at, node) in nodes.iter().enumerate() {
        let id = NodeId(at as u32);
        let visible = id == ROOT || numbers[node.parent.index()].is_some() && layers.shows(node.parent, id);
        if visible && id != ROOT {
            layers.enter(node.parent, id);
        }
        numbers.push(visible.then_some(NodeId(next)));
        next += u32::from(visible);
    }
    numbers
}
