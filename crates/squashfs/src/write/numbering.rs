//! The numbers of inodes, which are also their order in the inode table.
//!
//! The order has two requirements. First, the entries of one directory should be adjacent and in the order of their names, including
//! subdirectories: then a listing needs one header for many entries, whose numbers increase by one. Second, a directory's inode contains the
//! position of its listing, which contains the positions of its entries' inodes. All of these must therefore precede the directory's inode.
//!
//! The order of levels satisfies both. From the deepest directories to the root, level by level, the entries of each directory follow one
//! another; the root comes last. All listings of a level are between it and the next. Within a level no block depends on another, so workers can
//! compress the blocks in parallel. A post-order walk of the tree would give the same listings, but each block would depend on the previous block.
//!
//! On request, some inodes of each level come after all others of it. If these are the inodes of files with blocks, what changes when data moves
//! stays together. A listing then has one more header at each change between the two groups.

use packline_runtime::escape::Escape;
use packline_tree::{Content, NodeId, Tree};

use crate::Error;

/// Numbers of inodes, 1 to their count, and the directories level by level.
#[derive(Debug)]
pub(crate) struct Numbering {
    /// All directories: the root, then the directories in it, then those one level below, and so on. The directories of one level are in the
    /// order of their parents and their names.
    directories: Vec<NodeId>,
    /// Start of each level in `directories`; the last element is the number of directories.
    levels: Vec<usize>,
    /// Number of each inode, by its index in the tree.
    numbers: Vec<u32>,
    count: u32,
}

impl Numbering {
    /// Numbers all inodes of a tree; within a level, the `late` inodes come last. Takes time and memory in proportion to the tree, and no
    /// recursion.
    ///
    /// # Errors
    /// [`Error::Limit`] if the number after the last inode, which is the parent's number in the root's inode, does not fit into 32 bits.
    pub(crate) fn new(tree: &Tree, late: &dyn Fn(NodeId) -> bool) -> Result<Numbering, Error> {
        let (directories, levels) = directories(tree);
        let numbers = vec![0; tree.inode_count()];
        let mut numbering = Numbering { directories, levels, numbers, count: 0 };
        for level in (0..numbering.levels()).rev() {
            numbering.number_level(tree, level, &|node| !late(node))?;
            numbering.number_level(tree, level, late)?;
        }
        numbering.number(tree, tree.root())?;
        Ok(numbering)
    }

    /// Number of levels: one more than the depth of the deepest directory.
    pub(crate) fn levels(&self) -> usize {
        self.levels.len() - 1
    }

    /// Returns the directories of a level; level 0 has the root.
    pub(crate) fn level(&self, level: usize) -> &[NodeId] {
        &self.directories[self.levels[level]..self.levels[level + 1]]
    }

    /// Returns the inode number of a node.
    pub(crate) fn of(&self, tree: &Tree, node: NodeId) -> u32 {
        self.numbers[tree.inode(node).index()]
    }

    /// Returns the inode number of a directory's parent; for the root, the number after the last one, as mksquashfs does.
    pub(crate) fn of_parent(&self, tree: &Tree, node: NodeId) -> u32 {
        if node == tree.root() { self.count + 1 } else { self.of(tree, tree.parent(node)) }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Numbers some entries of a level.
    fn number_level(&mut self, tree: &Tree, level: usize, some: &dyn Fn(NodeId) -> bool) -> Result<(), Error> {
        for place in self.levels[level]..self.levels[level + 1] {
            for &child in tree.children(self.directories[place]).iter().filter(|child| some(**child)) {
                self.number(tree, child)?;
            }
        }
        Ok(())
    }

    /// Gives the next number to an inode; an inode with several names is numbered at its first name.
    fn number(&mut self, tree: &Tree, node: NodeId) -> Result<(), Error> {
        let number = &mut self.numbers[tree.inode(node).index()];
        if *number != 0 {
            return Ok(());
        }
        if self.count == u32::MAX - 1 {
            let what = format!("{}: one inode too many", display_path(tree, node));
            return Err(Error::Limit { what, expected: format!("at most {} inodes", u32::MAX - 1) });
        }
        self.count += 1;
        *number = self.count;
        Ok(())
    }
}

/// Returns the directories level by level, and the starts of the levels.
fn directories(tree: &Tree) -> (Vec<NodeId>, Vec<usize>) {
    let mut all = vec![tree.root()];
    let mut levels = vec![0];
    let mut done = 0;
    while done < all.len() {
        let end = all.len();
        levels.push(end);
        for place in done..end {
            let children = tree.children(all[place]).iter().copied();
            all.extend(children.filter(|child| is_directory(tree, *child)));
        }
        done = end;
    }
    (all, levels)
}

pub(crate) fn is_directory(tree: &Tree, node: NodeId) -> bool {
    matches!(tree.content(tree.inode(node)), Content::Dir)
}

pub(crate) fn display_path(tree: &Tree, node: NodeId) -> String {
    let path = tree.path(node);
    if path.is_empty() { "the root directory".into() } else { path.escaped() }
}

#[cfg(test)]
mod tests {
    use packline_tree::{Entry, Kind, Meta, Namespace};

    use super::*;

    fn tree(entries: &[(&str, Kind)]) -> Tree {
        let meta = Meta::new(0o755, 0, 0, 0);
        let mut namespace = Namespace::new(meta);
        for (path, kind) in entries {
            let entry = Entry { path: (*path).into(), kind: kind.clone(), meta, xattrs: Vec::new() };
            namespace.add(&entry, 0, u32::MAX).unwrap();
        }
        namespace.finish().unwrap()
    }

    fn numbers(tree: &Tree, late: &[&str]) -> Vec<(String, u32, u32)> {
        let numbering = Numbering::new(tree, &|node| late.contains(&&*display_path(tree, node))).unwrap();
        let line = |node| (display_path(tree, node), numbering.of(tree, node), numbering.of_parent(tree, node));
        let mut lines: Vec<_> = tree.nodes().map(line).collect();
        lines.sort_by_key(|(path, number, _)| (*number, path.clone()));
        lines
    }

    #[test]
    fn deeper_levels_come_first_and_siblings_together() {
        let file = || Kind::File { size: 0 };
        let tree = tree(&[
            ("b/x/2", file()),
            ("c", file()),
            ("b/y", file()),
            ("a/z/1", file()),
            ("a/y", Kind::HardLink(b"b/x/2".to_vec())),
        ]);
        // The number of each inode, and the number of its parent. The file with two names has one number, in the level of its first name.
        let expected = [
            ("a/z/1", 1, 3),
            ("a/y", 2, 6),
            ("b/x/2", 2, 4),
            ("a/z", 3, 6),
            ("b/x", 4, 7),
            ("b/y", 5, 7),
            ("a", 6, 9),
            ("b", 7, 9),
            ("c", 8, 9),
            ("the root directory", 9, 10),
        ];
        assert_eq!(numbers(&tree, &[]), expected.map(|(path, number, parent)| (path.to_owned(), number, parent)));
    }

    #[test]
    fn late_inodes_come_last_in_their_level() {
        let file = || Kind::File { size: 0 };
        let tree = tree(&[("a/1", file()), ("a/2", file()), ("b/3", file()), ("b/4", file()), ("c", file())]);
        let order: Vec<String> = numbers(&tree, &["a/1", "b/3", "a"]).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(order, ["a/2", "b/4", "a/1", "b/3", "b", "c", "a", "the root directory"]);
    }
}
