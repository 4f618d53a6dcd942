//! Blocks without a header that other containers do not have.

use packline_blocks::{Cluster, Form};
use packline_cache::BlockCodec;
use packline_codec::{CodecError, Encoder, Outcome, Spec};

use super::{Decoding, ImageCoders};

/// Names the blocks in keys of caches.
pub(super) const FORM: &str = "blocks without a header";

pub(super) struct BareBlocks {
    codec: Spec,
    /// Most bytes of content of a block.
    most: usize,
    /// Created on first use.
    encoder: Option<Box<dyn Encoder>>,
    decoding: Decoding,
}

impl BareBlocks {
    pub(super) fn new(image: &ImageCoders) -> BareBlocks {
        let most = image.cluster_most;
        BareBlocks { codec: image.codec.clone(), most, encoder: None, decoding: image.decoding() }
    }
}

impl BlockCodec for BareBlocks {
    fn encode(&mut self, src: &[u8], dst: &mut [u8], _: &mut Vec<Cluster>) -> Result<Outcome, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.codec.bare_encoder(self.most)?),
        };
        encoder.compress(src, dst)
    }

    fn is_block_of(&mut self, content: &[u8], stored: &[u8], _: &[Cluster]) -> bool {
        let form = Form::Block { content: content.len() as u32 };
        // Readers skip zeros before a block.
        stored.first().is_some_and(|byte| *byte != 0)
            && self.decoding.decode(form, stored).is_ok_and(|decoded| decoded == content)
    }
}
