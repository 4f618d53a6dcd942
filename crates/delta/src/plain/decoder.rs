//! Decodes the blocks of an image.

use packline_codec::{CodecError, Decoder, METADATA_BLOCK_SIZE, Spec};
use packline_squashfs::{BlockSize, METADATA_HEADER};

use super::form::Block;

/// Additional memory of a decoder in bytes, because other encoders may state larger dictionaries than packline's.
const DECODER_SLACK: usize = 8 << 20;

/// Decoders for data blocks and for metadata blocks.
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

    /// Memory of the decoders in bytes.
    pub(crate) fn memory(codec: &Spec, block_size: BlockSize) -> usize {
        decoder_memory(codec, block_size.bytes()) + decoder_memory(codec, METADATA_BLOCK_SIZE)
    }

    /// Decodes the stored bytes of a block, and replaces the content of `out`. Returns `None` if the bytes cannot be decoded.
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
