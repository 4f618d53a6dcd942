//! BLAKE3's tree above parts of a content that were hashed apart.

use blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};

/// Chaining values of adjacent parts (BLAKE3 paper, section 2.1), merged as soon as it is known that others follow. All parts but the last
/// must have the same size, a power of two of chunks of 1024 bytes.
#[derive(Debug, Clone, Default)]
pub struct Blake3Tree {
    /// Complete subtrees, the largest first; and the last node.
    stack: Vec<[u8; 32]>,
    count: u64,
}

impl Blake3Tree {
    /// Appends a node at the right.
    pub fn push(&mut self, node: [u8; 32]) {
        // Merges nodes that were kept apart because they might have been the last.
        while self.stack.len() > self.count.count_ones() as usize {
            self.join();
        }
        self.stack.push(node);
        self.count += 1;
    }

    /// Nodes that were pushed.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn join(&mut self) {
        if let (Some(right), Some(left)) = (self.stack.pop(), self.stack.pop()) {
            self.stack.push(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
    }

    /// The common node, for a part of the content; `None` without nodes.
    pub fn node(mut self) -> Option<[u8; 32]> {
        while self.stack.len() > 1 {
            self.join();
        }
        self.stack.pop()
    }

    /// The BLAKE3 of all of the content; `None` for fewer than two nodes, which do not determine it.
    pub fn root(&self) -> Option<[u8; 32]> {
        let mut tree = self.clone();
        while tree.stack.len() > 2 {
            tree.join();
        }
        match tree.stack.as_slice() {
            [left, right] => Some(*merge_subtrees_root(left, right, Mode::Hash).as_bytes()),
            _ => None,
        }
    }
}

impl FromIterator<[u8; 32]> for Blake3Tree {
    fn from_iter<I: IntoIterator<Item = [u8; 32]>>(nodes: I) -> Blake3Tree {
        let mut tree = Blake3Tree::default();
        nodes.into_iter().for_each(|node| tree.push(node));
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blake3::hazmat::HasherExt as _;

    fn content(length: u32) -> Vec<u8> {
        (0..length).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect()
    }

    fn nodes(content: &[u8], size: usize) -> Vec<[u8; 32]> {
        let node = |(part, content)| {
            blake3::Hasher::new().set_input_offset(part * size as u64).update(content).finalize_non_root()
        };
        (0..).zip(content.chunks(size)).map(node).collect()
    }

    #[test]
    fn the_root_is_the_hash_of_the_whole() {
        let content = content(40 * 4096 + 77);
        for size in [1024, 4096] {
            for length in (1..=40).flat_map(|parts| [parts * size + 1, parts * size + 77, (parts + 1) * size]) {
                let content = &content[..length.min(content.len())];
                let tree: Blake3Tree = nodes(content, size).into_iter().collect();
                assert_eq!(tree.root(), Some(*blake3::hash(content).as_bytes()), "{length} {size}");
            }
        }
        assert_eq!(Blake3Tree::default().root(), None);
        assert_eq!(Blake3Tree::from_iter([[0; 32]]).root(), None);
    }

    #[test]
    fn groups_are_nodes_too() {
        let content = content(37 * 4096 + 5);
        let groups = nodes(&content, 4096);
        let groups = groups.chunks(8).map(|group| Blake3Tree::from_iter(group.iter().copied()).node().unwrap());
        assert_eq!(Blake3Tree::from_iter(groups).root(), Some(*blake3::hash(&content).as_bytes()));
    }
}
