//! Checksums: all are BLAKE3, whole, truncated, or as a node of the content's tree.

use blake3::Hasher;
use blake3::hazmat::HasherExt;
use packline_runtime::{Blake3Tree, TaskError};

use super::RecordSize;
use crate::Error;

/// The chaining value of a part of the content that is a subtree of it (BLAKE3 paper, section 2.1).
pub(crate) type Node = [u8; 32];
/// The BLAKE3 of the whole content.
pub(crate) type Root = [u8; 32];

/// The first `N` bytes of the BLAKE3 of some bytes.
pub(crate) fn sum<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hasher = Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    cut(hasher.finalize().as_bytes())
}

/// The first bytes of a hash.
pub(crate) fn cut<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|at| hash.get(at).copied().unwrap_or_default())
}

/// The root of the content of all records, whose nodes are in `tree`. `alone`: the root of the last record, if it is the first.
///
/// # Errors
/// [`Error::Work`] if that is unknown although there is one record.
pub(crate) fn root_of(tree: &Blake3Tree, alone: Option<Root>) -> Result<Root, Error> {
    match tree.count() {
        0 => Ok(*blake3::hash(b"").as_bytes()),
        1 => alone.ok_or_else(|| Error::internal("the hash of the only record is not known".to_owned())),
        _ => tree.root().ok_or_else(|| Error::internal("the tree of the records has no root".to_owned())),
    }
}

/// Hashes of the content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Its node in the tree.
    pub(crate) node: Node,
    /// The root, if it is all of the content. Only for the first record, since no other can be.
    pub(crate) alone: Option<Root>,
}

impl Digest {
    /// The digest of a record's content, which is not empty.
    pub(crate) fn of(content: &[u8], number: u64, record_size: RecordSize) -> Digest {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(number << record_size.log());
        hasher.update(content);
        let alone = (number == 0).then(|| *hasher.finalize().as_bytes());
        Digest { node: hasher.finalize_non_root(), alone }
    }

    /// The checksum of a record that stores its content: derived without hashing again.
    pub(crate) fn sum(&self) -> [u8; 8] {
        cut(&self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_hash_of_the_whole() {
        let content: Vec<u8> = (0..40 * 4096 + 77u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
        let size = RecordSize::MIN;
        for length in (0..=40).flat_map(|records| [records * 4096, records * 4096 + 1, records * 4096 + 77]) {
            let content = &content[..length];
            let records = (0..).zip(content.chunks(size.bytes()));
            let digests: Vec<Digest> = records.map(|(number, record)| Digest::of(record, number, size)).collect();
            let tree = digests.iter().map(|digest| digest.node).collect();
            let alone = digests.last().and_then(|digest| digest.alone);
            assert_eq!(root_of(&tree, alone).unwrap(), *blake3::hash(content).as_bytes(), "{length}");
        }
    }
}
