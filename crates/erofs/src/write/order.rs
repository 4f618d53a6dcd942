//! The order of inodes: a directory's entries follow one another, and its subtree follows them. A listing with all attributes reads adjacent
//! blocks, and so does a walk of a subtree.

use packline_blocks::Error;
use packline_tree::{Content, NodeId, Tree};

/// Calls `visit` for each inode once, with its first name. Takes one bit for each inode, and no recursion.
pub(super) fn for_each(tree: &Tree, visit: &mut dyn FnMut(NodeId) -> Result<(), Error>) -> Result<(), Error> {
    let mut seen = Seen(vec![0; tree.inode_count().div_ceil(64)]);
    visit(tree.root())?;
    let mut open = vec![tree.root()];
    while let Some(directory) = open.pop() {
        let first = open.len();
        for &child in tree.children(directory) {
            if tree.links(tree.inode(child)) > 1 && !seen.add(tree.inode(child).index()) {
                continue;
            }
            visit(child)?;
            if is_directory(tree, child) {
                open.push(child);
            }
        }
        open[first..].reverse();
    }
    Ok(())
}

pub(super) fn is_directory(tree: &Tree, node: NodeId) -> bool {
    matches!(tree.content(tree.inode(node)), Content::Dir)
}

struct Seen(Vec<u64>);

impl Seen {
    /// Returns whether the number is new.
    fn add(&mut self, number: usize) -> bool {
        let word = &mut self.0[number / 64];
        let bit = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}
