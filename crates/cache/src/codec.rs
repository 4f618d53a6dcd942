//! What the cache must know of an encoder.

use packline_codec::{CodecError, Decoder, Encoder, Outcome, Spec};

use crate::cluster::{Cluster, LargestBlock};

/// Encodes blocks, and checks blocks that were found. Results depend on the arguments alone, not on earlier calls.
pub trait BlockCodec: Send {
    /// Compresses a block into `dst`, which is at least as long. Adds its clusters to an empty list if blocks are stored in clusters.
    ///
    /// # Errors
    /// Errors of the codec.
    fn encode(&mut self, src: &[u8], dst: &mut [u8], clusters: &mut Vec<Cluster>) -> Result<Outcome, CodecError>;

    /// Whether the block can be stored, and has this content. `stored` and `clusters` come from an entry, and can be anything; there is no
    /// cluster if blocks are not stored in clusters.
    fn is_block_of(&mut self, content: &[u8], stored: &[u8], clusters: &[Cluster]) -> bool;
}

/// What determines the entries of an encoder.
#[derive(Debug, Clone, Copy)]
pub struct EncoderForm {
    /// [`encoder_hash`](crate::encoder_hash), or [`encoder_hash_of_form`](crate::encoder_hash_of_form).
    pub hash: [u8; 32],
    pub largest: LargestBlock,
}

/// The blocks of [`Spec::encoder`].
pub(crate) struct CommonCodec {
    spec: Spec,
    block_size: usize,
    /// Created for the first block that is not found.
    encoder: Option<Box<dyn Encoder>>,
    /// `None` if no block is checked.
    decoder: Option<Box<dyn Decoder>>,
    /// The decoded content of a block that was found.
    decoded: Vec<u8>,
}

impl CommonCodec {
    /// `checks`: whether blocks are checked.
    pub(crate) fn new(spec: &Spec, block_size: usize, checks: bool) -> Result<CommonCodec, CodecError> {
        let decoder = || spec.decoder(block_size, spec.footprint(block_size).decoder);
        let decoder = checks.then(decoder).transpose()?;
        Ok(CommonCodec { spec: spec.clone(), block_size, encoder: None, decoder, decoded: Vec::new() })
    }
}

impl BlockCodec for CommonCodec {
    fn encode(&mut self, src: &[u8], dst: &mut [u8], _: &mut Vec<Cluster>) -> Result<Outcome, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.spec.encoder(self.block_size)?),
        };
        encoder.compress(src, dst)
    }

    fn is_block_of(&mut self, content: &[u8], stored: &[u8], _: &[Cluster]) -> bool {
        let Some(decoder) = &mut self.decoder else { return false };
        self.decoded.resize(self.block_size, 0);
        let decoded = &mut self.decoded[..content.len()];
        // A block with other filters could decode to the right content here but nowhere else.
        let asked = self.spec.check_parameters(self.block_size, stored);
        let length = asked.and_then(|()| decoder.decompress(stored, decoded));
        length.is_ok_and(|length| length == content.len()) && *decoded == *content
    }
}
