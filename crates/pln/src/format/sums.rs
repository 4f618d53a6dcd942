//! Checksums. All are BLAKE3: complete, truncated, or as a node of the content's tree.

use blake3::Hasher;
use blake3::hazmat::HasherExt;
use packline_runtime::{Blake3Tree, TaskError};

use super::RecordSize;
use crate::Error;

/// The chaining value of a part of the content that is a subtree (BLAKE3 paper, section 2.1).
pub(crate) type Node = [u8; 32];
/// The BLAKE3 of the complete content.
pub(crate) type Root = [u8; 32];

/// Returns the first `N` bytes of the BLAKE3 of the concatenated parts.
pub(crate) fn sum<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hasher = Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    cut(hasher.finalize().as_bytes())
}

/// Returns the first bytes of a hash.
pub(crate) fn cut<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|at| hash.get(at).copied().unwrap_or_default())
}

/// Returns the root of the content. `tree` holds the nodes of all records. `alone` is the root of the last record, if that is the first
/// record.
///
/// # Errors
/// [`Error::Work`] if there is one record and `alone` is `None`.
pub(crate) fn root_of(tree: &Blake3Tree, alone: Option<Root>) -> Result<Root, Error> {
    match tree.count() {
        0 => Ok(*blake3::hash(b"").as_bytes()),
        1 => alone.ok_or_else(|| Error::internal("the hash of the only record is not known".to_owned())),
        _ => tree.root().ok_or_else(|| Error::internal("the tree of the records has no root".to_owned())),
    }
}

/// The hashes of a record's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest {
    /// The node in the tree.
    pub(crate) node: Node,
    /// The root, if the record is the complete content. Only the first record can be.
    pub(crate) alone: Option<Root>,
}

impl Digest {
    /// Hashes the content of a record, which must not be empty.
    pub(crate) fn of(content: &[u8], number: u64, record_size: RecordSize) -> Digest {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(number << record_size.log());
        hasher.update(content);
        let alone = (number == 0).then(|| *hasher.finalize().as_bytes());
        Digest { node: hasher.finalize_non_root(), alone }
    }

    /// Returns the checksum of a record that stores its content, without hashing again.
    pub(crate) fn sum(&self) -> [u8; 8] {
        cut(&self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_the_hash_of_the_content() {
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
