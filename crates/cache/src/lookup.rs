//! Looks up blocks before they are compressed.

use std::fmt::Debug;
use std::sync::Arc;

use packline_codec::Outcome;

use crate::cache::BlockCache;
use crate::cluster::{Cluster, LargestBlock};
use crate::entry::{HEADER, MORE};
use crate::key::ContentDigest;

/// Compressed blocks that are known without the cache. Their owner decides with which codec they were compressed.
pub trait KnownBlocks: Debug + Send + Sync {
    /// Writes the compressed block to the start of `dst`, which is as long as the content, and adds its clusters to an empty list, if blocks are
    /// stored in clusters. The answer is not checked: the block with this digest must have been decoded in this run, from exactly the returned
    /// bytes. After `None` the contents of `dst` are unspecified, and the list is empty.
    fn find(&self, content: &ContentDigest, dst: &mut [u8], clusters: &mut Vec<Cluster>) -> Option<Outcome>;

    /// Whether all blocks found so far equal the blocks that the encoder would have made.
    fn is_exact(&self) -> bool;
}

#[derive(Debug, Clone, Default)]
pub struct Lookup {
    /// Asked first, in this order. Their blocks are not added to the cache, because another encoder may have made them.
    pub known: Vec<Arc<dyn KnownBlocks>>,
    /// Asked for blocks that are not in `known`. Compressed blocks are added to it.
    pub cache: Option<Arc<BlockCache>>,
}

impl Lookup {
    /// Whether no block can be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.cache.is_none()
    }

    /// Whether all blocks found so far equal the blocks that the encoder would have made.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.known.iter().all(|known| known.is_exact())
    }

    /// Bytes that a [`crate::BlockEncoder`] needs in addition to its encoder. `decoder`: bytes of a decoder of its blocks.
    #[must_use]
    pub fn encoder_memory(&self, decoder: usize, largest: LargestBlock) -> usize {
        let Some(cache) = &self.cache else { return 0 };
        let connection = cache.remote_memory(largest).per_worker;
        decoder + largest.bytes + largest.entry() + HEADER + MORE + connection
    }

    /// Bytes that all encoders together need in addition.
    #[must_use]
    pub fn shared_memory(&self, largest: LargestBlock) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.remote_memory(largest).shared)
    }

    /// The first answer of `known`.
    pub(crate) fn find_known(
        &self,
        content: &ContentDigest,
        dst: &mut [u8],
        clusters: &mut Vec<Cluster>,
    ) -> Option<Outcome> {
        self.known.iter().find_map(|known| known.find(content, dst, clusters))
    }
}
