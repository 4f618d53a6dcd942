//! The tree of all paths in a manifest. Each component occurs once, so that memory grows with the text, not with the depth of paths.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use packline_tree::path::{MAX_PATH, PathFault, upwards};
use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error};

use super::keywords::Keywords;

pub(super) const ROOT: usize = 0;

pub(super) struct Node {
    name: Bytes,
    parent: usize,
    /// The nodes of the entries by name, in the order of a directory source.
    pub children: BTreeMap<Bytes, usize>,
    /// The length of the path in bytes.
    length: usize,
    /// The last line of the path, or the first line with this component if the path has no line.
    pub line: u64,
    /// `None` if only lines for paths below the node name it.
    pub keywords: Option<Box<Keywords>>,
}

impl Node {
    fn new(name: &[u8], parent: usize, length: usize, line: u64) -> Node {
        Node { name: name.to_vec(), parent, children: BTreeMap::new(), length, line, keywords: None }
    }

    /// Adds the path and keywords of a line.
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

    /// Returns the node at a canonical path below another node. Missing nodes are added, including those above it.
    ///
    /// # Errors
    /// [`Error::Line`] if the path is too long.
    pub fn insert(&mut self, place: TextLine<'_>, start: usize, path: &[u8]) -> Result<usize, Error> {
        let mut at = start;
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            at = match self.0[at].children.get(name) {
                Some(&child) => child,
                None => self.add(place, at, name)?,
            };
        }
        Ok(at)
    }

    fn add(&mut self, place: TextLine<'_>, parent: usize, name: &[u8]) -> Result<usize, Error> {
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
