//! Looks up blocks before they are compressed.

use std::fmt::Debug;
use std::sync::Arc;

use packline_codec::{Outcome, Spec};

use crate::cache::BlockCache;
use crate::entry::{HEADER, MORE};
use crate::key::ContentDigest;

/// Compressed blocks that are known without the cache. Their owner decides with which codec they were compressed.
pub trait KnownBlocks: Debug + Send + Sync {
    /// Writes the compressed block to the start of `dst`, which is as long as the content. The answer is not checked: the block
    /// with this digest must have been decoded in this run, from exactly the returned bytes. After `None` the contents of `dst`
    /// are unspecified.
    fn find(&self, content: &ContentDigest, dst: &mut [u8]) -> Option<Outcome>;

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

    /// Bytes that a [`crate::BlockEncoder`] needs in addition to [`Spec::encoder`].
    #[must_use]
    pub fn encoder_memory(&self, spec: &Spec, block_size: usize) -> usize {
        match (spec, &self.cache) {
            (Spec::None, _) | (_, None) => 0,
            (_, Some(cache)) => {
                let connection = cache.remote_memory(block_size).per_worker;
                spec.footprint(block_size).decoder + 2 * block_size + HEADER + MORE + connection
            }
        }
    }

    /// Bytes that all encoders together need in addition.
    #[must_use]
    pub fn shared_memory(&self, block_size: usize) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.remote_memory(block_size).shared)
    }

    /// The first answer of `known`.
    pub(crate) fn find_known(&self, content: &ContentDigest, dst: &mut [u8]) -> Option<Outcome> {
        self.known.iter().find_map(|known| known.find(content, dst))
    }
}
