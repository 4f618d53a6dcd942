//! What a container gives to the pipeline: its encoders and decoders.

use std::fmt;

use packline_cache::{ContentDigest, Digests};
use packline_codec::{CodecError, Outcome};

use crate::{Cluster, Form};

/// Makes the encoders and decoders of the workers.
pub trait Coders: fmt::Debug + Send + Sync {
    /// Returns the coder of one worker. A coder creates its encoders on first use.
    fn coder(&self) -> Box<dyn Coder>;
}

/// The encoders of one worker, and later its decoder. Results depend on the arguments alone, not on earlier calls.
pub trait Coder: Send {
    /// Compresses a data block or a fragment block into `to`, which is as long as the block.
    ///
    /// # Errors
    /// Errors of the codec.
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError>;

    /// Compresses a data block or a fragment block into clusters, with [`DataOptions::cluster_size`](crate::DataOptions::cluster_size). Their bytes
    /// follow each other in `to`, which is as long as the block. Adds the clusters to an empty list. By default the block is one cluster.
    ///
    /// Each cluster is stored in whole units ([`DataOptions::unit`](crate::DataOptions::unit)), and never in more bytes than its content has. The size of the outcome is the sum of the clusters.
    /// [`Outcome::NotSmaller`] stores the block uncompressed.
    ///
    /// # Errors
    /// Errors of the codec.
    fn compress_clusters(
        &mut self,
        block: &BlockContent<'_>,
        to: &mut [u8],
        clusters: &mut Vec<Cluster>,
    ) -> Result<Outcome, CodecError> {
        let outcome = self.compress(block, to)?;
        if let Outcome::Smaller(size) = outcome {
            clusters.push(Cluster { length: block.bytes.len() as u32, size_word: size as u32 });
        }
        Ok(outcome)
    }

    /// Encodes a part of the metadata, as [`Workers::encode`](crate::Workers::encode) got it. By default, the part stays as it is.
    ///
    /// # Errors
    /// Errors of the codec.
    fn encode_metadata(&mut self, raw: Vec<u8>) -> Result<Vec<u8>, CodecError> {
        Ok(raw)
    }

    /// Decodes a part that was read back: [`Form::Block`], which is a block or a cluster, or [`Form::Metadata`]. The encoders are no longer needed
    /// after the first call, and should leave their memory to the decoder.
    ///
    /// # Errors
    /// A phrase about the fault of the part: `cannot be decoded (...)`.
    fn decode<'a>(&'a mut self, form: Form, stored: &'a [u8]) -> Result<&'a [u8], String>;
}

/// A block to compress.
#[derive(Debug, Clone, Copy)]
pub struct BlockContent<'a> {
    pub bytes: &'a [u8],
    /// Digest of the bytes, if it is known. `None` without [`DataOptions::looks_up`](crate::DataOptions::looks_up).
    pub digest: Option<ContentDigest>,
    /// Digest of the list of the tail ends in a fragment block, if each of them has a digest. `None` without
    /// [`DataOptions::looks_up`](crate::DataOptions::looks_up).
    pub parts: Option<ContentDigest>,
}

impl BlockContent<'_> {
    /// Returns what a look-up needs.
    pub fn digests(&self) -> Digests {
        Digests { content: self.digest, parts: self.parts }
    }
}
