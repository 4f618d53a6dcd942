//! The encoders and decoders of SquashFS: blocks without a header, and metadata blocks.

use packline_blocks::{BlockContent, Coder, Coders, Form, Start, Workers};
use packline_cache::{BlockEncoder, Lookup};
use packline_codec::{CodecError, Decoder, Encoder, METADATA_BLOCK_SIZE, Outcome, Spec};

use crate::format::wire::{STORED, encode_metadata, metadata_block};
use crate::{BlockSize, Error, MetadataCompressor, Options};

/// Makes the coders of an image.
#[derive(Debug, Clone)]
pub(crate) struct ImageCoders {
    codec: Spec,
    block_size: BlockSize,
    lookup: Lookup,
}

impl ImageCoders {
    pub(crate) fn new(options: &Options, start: &Start) -> ImageCoders {
        ImageCoders { codec: options.codec.clone(), block_size: options.block_size, lookup: start.lookup.clone() }
    }
}

impl Coders for ImageCoders {
    fn coder(&self) -> Box<dyn Coder> {
        let image = self.clone();
        Box::new(ImageCoder { image, data: None, metadata: None, decoder: None, scratch: Vec::new() })
    }
}

/// Encoders or a decoder, created on first use, and a buffer for decoded blocks.
struct ImageCoder {
    image: ImageCoders,
    data: Option<BlockEncoder>,
    metadata: Option<Box<dyn Encoder>>,
    decoder: Option<Box<dyn Decoder>>,
    scratch: Vec<u8>,
}

impl Coder for ImageCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        let ImageCoders { codec, block_size, lookup } = &self.image;
        let encoder = match &mut self.data {
            Some(encoder) => encoder,
            none => none.insert(BlockEncoder::new(lookup, codec, block_size.bytes())?),
        };
        encoder.compress_block(block.bytes, &block.digests(), to)
    }

    fn encode_metadata(&mut self, raw: Vec<u8>) -> Result<Vec<u8>, CodecError> {
        let encoder = match &mut self.metadata {
            Some(encoder) => encoder,
            none => none.insert(self.image.codec.metadata_encoder()?),
        };
        encode_metadata(encoder.as_mut(), &raw)
    }

    fn decode<'a>(&'a mut self, form: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        let largest = self.image.block_size.bytes().max(METADATA_BLOCK_SIZE);
        let (payload, most) = match (form, stored) {
            (Form::Metadata, &[low, high, ref payload @ ..]) => {
                if u16::from_le_bytes([low, high]) & STORED != 0 {
                    return Ok(payload);
                }
                (payload, METADATA_BLOCK_SIZE)
            }
            (Form::Metadata, _) => return Err("has no header".into()),
            _ => (stored, largest),
        };
        (self.data, self.metadata) = (None, None);
        let in_words = |error: CodecError| format!("cannot be decoded ({error})");
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(self.image.codec.decoder(largest, usize::MAX).map_err(in_words)?),
        };
        self.scratch.resize(largest, 0);
        let length = decoder.decompress(payload, &mut self.scratch[..most]).map_err(in_words)?;
        Ok(&self.scratch[..length])
    }
}

/// The workers of the data area also compress the metadata blocks.
impl MetadataCompressor for Workers {
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error> {
        if stored {
            self.pass(metadata_block(&raw, true));
        } else {
            self.encode(raw);
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        self.next_encoded()
    }

    fn pending(&self) -> usize {
        self.encoding()
    }
}
