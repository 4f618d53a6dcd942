//! Decodes the blocks of one image.

use packline_codec::{CodecError, Decoder, METADATA_BLOCK_SIZE, Spec};
use packline_squashfs::{BlockSize, METADATA_HEADER};

use super::form::Block;

/// Memory of a decoder besides that for blocks of our encoder, bytes: others may state larger dictionaries.
const DECODER_SLACK: usize = 8 << 20;

/// Decoders for data and for metadata.
pub(crate) struct BlockDecoder {
    data: Box<dyn Decoder>,
    metadata: Box<dyn Decoder>,
    block_size: BlockSize,
}

impl BlockDecoder {
    pub(crate) fn new(codec: &Spec, block_size: BlockSize) -> Result<BlockDecoder, CodecError> {
        let data = codec.decoder(block_size.bytes(), decoder_memory(codec, block_size.bytes()))?;
        let metadata = codec.decoder(METADATA_BLOCK_SIZE, decoder_memory(codec, METADATA_BLOCK_SIZE))?;
        Ok(BlockDecoder { data, metadata, block_size })
    }

    /// Memory of a decoder, bytes.
    pub(crate) fn memory(codec: &Spec, block_size: BlockSize) -> usize {
        decoder_memory(codec, block_size.bytes()) + decoder_memory(codec, METADATA_BLOCK_SIZE)
    }

    /// Decodes the stored bytes of a block into `out`, whose content it replaces; `None` if they cannot be decoded.
    pub(crate) fn decode(&mut self, block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let (decoder, most, payload) = if block.is_metadata() {
            (&mut self.metadata, METADATA_BLOCK_SIZE, stored.get(METADATA_HEADER..)?)
        } else {
            (&mut self.data, self.block_size.bytes(), stored)
        };
        out.resize(most, 0);
        let length = decoder.decompress(payload, out).ok().filter(|length| *length > 0)?;
        out.truncate(length);
        Some(())
    }
}

fn decoder_memory(codec: &Spec, most: usize) -> usize {
    2 * codec.footprint(most).decoder + DECODER_SLACK
}
