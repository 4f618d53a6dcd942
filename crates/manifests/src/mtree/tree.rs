//! The tree of all paths in a manifest, each component once: memory grows with the text, whatever the depth of its paths.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use packline_tree::path::{MAX_PATH, PathFault, upwards};
use packline_tree::text::{Place, quote};
use packline_tree::{Bytes, Error};

use super::keywords::Keywords;

pub(super) const ROOT: usize = 0;

pub(super) struct Node {
    name: Bytes,
    parent: usize,
    /// By their names, in the order of a directory that is read.
    pub children: BTreeMap<Bytes, usize>,
    /// Length of its path in bytes.
    length: usize,
    /// Its last line, or else the first with this component.
    pub line: u64,
    /// None where only a line for something below it names it.
    pub keywords: Option<Box<Keywords>>,
}

impl Node {
    fn new(name: &[u8], parent: usize, length: usize, line: u64) -> Node {
        Node { name: name.to_vec(), parent, children: BTreeMap::new(), length, line, keywords: None }
    }

    /// Adds what a line says.
    pub fn define(&mut self, line: u64, keywords: Keywords) {
        self.line = line;
        match &mut self.keywords {
            Some(known) => known.merge(keywords),
            None => self.keywords = Some(Box::new(keywords)),
        }
    }
}

pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    pub fn new() -> Nodes {
        Nodes(vec![Node::new(b"", ROOT, 0, 0)])
    }

    /// The node at a canonical path below another, created with those above it.
    ///
    /// # Errors
    /// [`Error::Line`] for a path that is too long.
    pub fn insert(&mut self, place: Place<'_>, start: usize, path: &[u8]) -> Result<usize, Error> {
        let mut at = start;
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            at = match self.0[at].children.get(name) {
                Some(&child) => child,
                None => self.add(place, at, name)?,
            };
        }
        Ok(at)
    }

    fn add(&mut self, place: Place<'_>, parent: usize, name: &[u8]) -> Result<usize, Error> {
        let child = self.0.len();
        let length = self.0[parent].length + usize::from(parent != ROOT) + name.len();
        if length > MAX_PATH {
            let fault = PathFault::Long(length);
            return Err(place.error(format!("the path of {}: {fault}", quote(name)), fault.expected()));
        }
        self.0.push(Node::new(name, parent, length, place.line));
        self.0[parent].children.insert(name.to_vec(), child);
        Ok(child)
    }

    pub fn path(&self, node: usize) -> Bytes {
        upwards(node, |at| (at != ROOT).then(|| (&self.0[at].name[..], self.0[at].parent)))
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
