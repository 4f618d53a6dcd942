//! The part of BLAKE3's tree above the records.

use blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};

use super::{Node, Root};
use crate::Error;

/// Adjacent nodes, merged as soon as it is known that others follow. All but the last must have the same size, a power of two of chunks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// Complete subtrees, the largest first; and the last node.
    stack: Vec<Node>,
    count: u64,
}

impl Tree {
    /// Appends a node at the right.
    pub(crate) fn push(&mut self, node: Node) {
        // Merges nodes that were kept apart because they might have been the last.
        while self.stack.len() > self.count.count_ones() as usize {
            self.join();
        }
        self.stack.push(node);
        self.count += 1;
    }

    fn join(&mut self) {
        if let (Some(right), Some(left)) = (self.stack.pop(), self.stack.pop()) {
            self.stack.push(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
    }

    /// The common node, for a part of the content; `None` without nodes.
    pub(crate) fn node(mut self) -> Option<Node> {
        while self.stack.len() > 1 {
            self.join();
        }
        self.stack.pop()
    }

    /// The root, for all of the content; `None` for fewer than two nodes, which do not determine it.
    pub(crate) fn root(&self) -> Option<Root> {
        let mut tree = self.clone();
        while tree.stack.len() > 2 {
            tree.join();
        }
        match tree.stack.as_slice() {
            [left, right] => Some(*merge_subtrees_root(left, right, Mode::Hash).as_bytes()),
            _ => None,
        }
    }

    /// The root of the content of all records. `alone`: the root of the last record, if it is the first.
    ///
    /// # Errors
    /// [`Error::Internal`] if that is unknown although there is one record.
    pub(crate) fn root_of_all(&self, alone: Option<Root>) -> Result<Root, Error> {
        match self.count {
            0 => Ok(*blake3::hash(b"").as_bytes()),
            1 => alone.ok_or_else(|| Error::Internal("the hash of the only record is not known".to_owned())),
            _ => self.root().ok_or_else(|| Error::Internal("the tree of the records has no root".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordSize;
    use crate::format::Digest;

    fn digests(content: &[u8], size: RecordSize) -> Vec<Digest> {
        (0..).zip(content.chunks(size.bytes())).map(|(number, record)| Digest::of(record, number, size)).collect()
    }

    #[test]
    fn the_root_is_the_hash_of_the_whole() {
        let content: Vec<u8> = (0..40 * 4096 + 77u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
        for length in (0..=40).flat_map(|records| [records * 4096, records * 4096 + 1, records * 4096 + 77]) {
            let content = &content[..length];
            let digests = digests(content, RecordSize::MIN);
            let mut tree = Tree::default();
            digests.iter().for_each(|digest| tree.push(digest.node));
            let alone = digests.last().and_then(|digest| digest.alone);
            assert_eq!(tree.root_of_all(alone).unwrap(), *blake3::hash(content).as_bytes(), "{length}");
        }
    }

    #[test]
    fn groups_are_nodes_too() {
        let content: Vec<u8> = (0..37 * 4096 + 5u32).map(|number| (number >> 3) as u8).collect();
        let digests = digests(&content, RecordSize::MIN);
        let mut above = Tree::default();
        for group in digests.chunks(8) {
            let mut tree = Tree::default();
            group.iter().for_each(|digest| tree.push(digest.node));
            above.push(tree.node().unwrap());
        }
        assert_eq!(above.root(), Some(*blake3::hash(&content).as_bytes()));
    }
}
