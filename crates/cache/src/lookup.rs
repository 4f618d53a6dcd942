//! Where compressed blocks are looked up.

use std::fmt::Debug;
use std::sync::Arc;

use packline_codec::{Outcome, Spec};

use crate::cache::BlockCache;
use crate::entry::{HEADER, MORE};
use crate::key::ContentDigest;

/// Compressed blocks that are known besides those of the cache. What they are compressed with is left to the owner.
pub trait KnownBlocks: Debug + Send + Sync {
    /// Writes what a block compresses to at the start of `dst`, which is as long as its content. The answer is used as it is: the digest
    /// must be of what the block was decoded to in this run, and the bytes those that were decoded then. After `None` the contents of `dst`
    /// are of no use.
    fn find(&self, content: &ContentDigest, dst: &mut [u8]) -> Option<Outcome>;

    /// Whether all that was found so far is what the encoder would have made.
    fn is_exact(&self) -> bool;
}

/// Where a writer looks blocks up before it compresses them.
#[derive(Debug, Clone, Default)]
pub struct Lookup {
    /// Asked first, in this order. What they have is not added to the cache: it may be from another encoder.
    pub known: Vec<Arc<dyn KnownBlocks>>,
    /// Asked for the others, and takes what is compressed.
    pub cache: Option<Arc<BlockCache>>,
}

impl Lookup {
    /// Whether blocks are never found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.cache.is_none()
    }

    /// Whether all blocks that were found so far are those that the encoder would have made.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.known.iter().all(|known| known.is_exact())
    }

    /// Bytes that a [`crate::BlockEncoder`] takes besides those of [`Spec::encoder`].
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

    /// Bytes that all encoders together take besides those.
    #[must_use]
    pub fn shared_memory(&self, block_size: usize) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.remote_memory(block_size).shared)
    }

    /// The first answer of those that are asked before the cache.
    pub(crate) fn find_known(&self, content: &ContentDigest, dst: &mut [u8]) -> Option<Outcome> {
        self.known.iter().find_map(|known| known.find(content, dst))
    }
}
