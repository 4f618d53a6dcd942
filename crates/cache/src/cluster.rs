//! Clusters, and their list in an entry.

/// Flag in the size word of a block or cluster: it is stored, not compressed (SquashFS 4.0: bit 24).
pub const STORED_BLOCK: u32 = 1 << 24;
/// Bytes of the number of clusters at the start of a list.
const COUNT: usize = 4;
/// Bytes of a cluster in a list.
const ITEM: usize = 8;

/// A part of a block that is decoded on its own. The clusters of a block follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster {
    /// Bytes of content.
    pub length: u32,
    /// Size on disk, with [`STORED_BLOCK`] if it is not compressed.
    pub size_word: u32,
}

impl Cluster {
    /// Returns the size on disk in bytes.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size_word & !STORED_BLOCK
    }

    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.size_word & STORED_BLOCK == 0
    }
}

/// The largest block of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargestBlock {
    /// Bytes of content.
    pub bytes: usize,
    /// Most clusters of a compressed block; 0 if blocks are not stored in clusters.
    pub clusters: usize,
}

impl LargestBlock {
    /// Bytes of the largest entry without its header.
    pub(crate) fn entry(&self) -> usize {
        self.bytes + if self.clusters > 0 { COUNT + ITEM * self.clusters } else { 0 }
    }
}

impl From<usize> for LargestBlock {
    /// A block of this number of bytes without clusters.
    fn from(bytes: usize) -> LargestBlock {
        LargestBlock { bytes, clusters: 0 }
    }
}

/// Returns a list of clusters, and then the block.
pub(crate) fn with_list(clusters: &[Cluster], block: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(COUNT + ITEM * clusters.len() + block.len());
    out.extend((clusters.len() as u32).to_le_bytes());
    for cluster in clusters {
        out.extend(cluster.length.to_le_bytes());
        out.extend(cluster.size_word.to_le_bytes());
    }
    out.extend(block);
    out
}

/// Returns the clusters, and the block after them. `None` if the list is not complete.
pub(crate) fn split_list(entry: &[u8]) -> Option<(Vec<Cluster>, &[u8])> {
    let (count, rest) = entry.split_first_chunk::<COUNT>()?;
    let (list, block) = rest.split_at_checked((u32::from_le_bytes(*count) as usize).checked_mul(ITEM)?)?;
    let cluster = |&[a, b, c, d, e, f, g, h]: &[u8; ITEM]| Cluster {
        length: u32::from_le_bytes([a, b, c, d]),
        size_word: u32::from_le_bytes([e, f, g, h]),
    };
    Some((list.as_chunks::<ITEM>().0.iter().map(cluster).collect(), block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let clusters =
            [Cluster { length: 131_072, size_word: 40_960 }, Cluster { length: 5000, size_word: 8192 | STORED_BLOCK }];
        assert_eq!((clusters[1].size(), clusters[1].is_compressed()), (8192, false));
        let entry = with_list(&clusters, b"block");
        assert_eq!(split_list(&entry), Some((clusters.to_vec(), &b"block"[..])));
        assert_eq!(entry.len(), LargestBlock { bytes: 5, clusters: 2 }.entry());
        for length in 0..entry.len() - 5 {
            assert_eq!(split_list(&entry[..length]), None, "{length}");
        }
        assert_eq!(split_list(&[255; 100]), None);
    }
}
