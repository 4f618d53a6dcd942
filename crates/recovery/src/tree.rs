//! Hashes of shards as nodes of BLAKE3's tree over the file, and the hash of the file from them.

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

/// The chaining value of a subtree.
pub(crate) type Node = [u8; 32];

/// A hasher for the bytes of a subtree that begins at byte `start` of the file; [`node_of`] ends it.
pub(crate) fn hasher_at(start: u64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(start);
    hasher
}

pub(crate) fn node_of(hasher: &blake3::Hasher) -> Node {
    hasher.finalize_non_root()
}

/// The root above at least two adjacent nodes, all but the last of which are of subtrees of the same size.
pub(crate) fn root_of(nodes: &[Node]) -> Option<[u8; 32]> {
    let split = left(nodes.len())?;
    let (left, right) = (inner(&nodes[..split])?, inner(&nodes[split..])?);
    Some(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes())
}

/// No more levels than a count has bits.
fn inner(nodes: &[Node]) -> Option<Node> {
    let Some(split) = left(nodes.len()) else { return nodes.first().copied() };
    Some(merge_subtrees_non_root(&inner(&nodes[..split])?, &inner(&nodes[split..])?, Mode::Hash))
}

/// Nodes below the left child: the largest power of two that leaves one to the right.
fn left(count: usize) -> Option<usize> {
    (count > 1).then(|| count.next_power_of_two() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_hash_of_the_whole() {
        let content: Vec<u8> = (0..40 * 1024 + 77u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
        for length in (1..40).flat_map(|shards| [shards * 1024 + 1, shards * 1024 + 1024]) {
            let content = &content[..length];
            let nodes: Vec<Node> = (0..)
                .zip(content.chunks(1024))
                .map(|(index, shard)| node_of(hasher_at(index * 1024).update(shard)))
                .collect();
            assert_eq!(root_of(&nodes), Some(*blake3::hash(content).as_bytes()), "{length}");
        }
        assert_eq!((root_of(&[]), root_of(&[[0; 32]])), (None, None));
    }
}
