//! BLAKE3's tree over parts of a content that were hashed separately.

use blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};

/// Chaining values of adjacent parts (BLAKE3 paper, section 2.1), merged as soon as another part follows. All parts except the
/// last must have the same size, a power of two of chunks of 1024 bytes.
#[derive(Debug, Clone, Default)]
pub struct Blake3Tree {
    /// Complete subtrees, the largest first, and the last node.
    stack: Vec<[u8; 32]>,
    count: u64,
}

impl Blake3Tree {
    /// Appends a node on the right.
    pub fn push(&mut self, node: [u8; 32]) {
        // These nodes were not merged yet because they could have been the last.
        while self.stack.len() > self.count.count_ones() as usize {
            self.join();
        }
        self.stack.push(node);
        self.count += 1;
    }

    /// Number of nodes pushed.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn join(&mut self) {
        if let (Some(right), Some(left)) = (self.stack.pop(), self.stack.pop()) {
            self.stack.push(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
    }

    /// The node of all parts, as a subtree of a larger tree; `None` without nodes.
    pub fn node(mut self) -> Option<[u8; 32]> {
        while self.stack.len() > 1 {
            self.join();
        }
        self.stack.pop()
    }

    /// The BLAKE3 hash of the complete content; `None` for fewer than two nodes, which do not determine the hash.
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
    fn the_root_equals_the_hash_of_the_content() {
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
