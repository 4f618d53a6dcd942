//! The encoders and decoders of EROFS: blocks without a header. Clusters of whole blocks have zeros before the compressed bytes.

use packline_blocks::{BlockContent, BlockSize, Coder, Coders, Form, Start};
use packline_cache::{BlockEncoder, Lookup};
use packline_codec::{BareCodec, BareDecoder, BlockPart, CodecError, Encoder, Outcome, Spec};

use crate::options::{BLOCK, Form as ImageForm, Options};

/// Makes the coders of an image.
#[derive(Debug, Clone)]
pub(super) struct ImageCoders {
    codec: Spec,
    /// `None` if nothing is compressed.
    bare: Option<BareCodec>,
    /// Whether clusters have whole blocks.
    pads: bool,
    block_size: BlockSize,
    lookup: Lookup,
}

impl ImageCoders {
    pub(super) fn new(options: &Options, start: &Start) -> ImageCoders {
        ImageCoders {
            codec: options.codec.clone(),
            bare: options.bare_codec(),
            pads: options.form() == ImageForm::Clusters,
            block_size: options.block_size,
            lookup: start.lookup.clone(),
        }
    }

    /// Whether the blocks are those that other containers have, so that they can be looked up.
    fn has_common_blocks(&self) -> bool {
        self.codec.bare_name() == self.codec.to_string()
    }

    fn encoder(&self) -> Result<BlockMaker, CodecError> {
        let size = self.block_size.bytes();
        Ok(if self.has_common_blocks() {
            BlockMaker::Common(Box::new(BlockEncoder::new(&self.lookup, &self.codec, size)?))
        } else {
            BlockMaker::Bare(self.codec.bare_encoder(size)?)
        })
    }
}

impl Coders for ImageCoders {
    fn coder(&self) -> Box<dyn Coder> {
        Box::new(ImageCoder { image: self.clone(), encoder: None, decoder: None, scratch: Vec::new() })
    }
}

enum BlockMaker {
    /// Looks blocks up first.
    Common(Box<BlockEncoder>),
    Bare(Box<dyn Encoder>),
}

/// An encoder or a decoder, created on first use, and a buffer for decoded blocks.
struct ImageCoder {
    image: ImageCoders,
    encoder: Option<BlockMaker>,
    decoder: Option<BareDecoder>,
    scratch: Vec<u8>,
}

impl Coder for ImageCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.image.encoder()?),
        };
        let outcome = match (encoder, &block.parts) {
            (BlockMaker::Bare(encoder), _) => encoder.compress(block.bytes, to)?,
            (BlockMaker::Common(encoder), Some(parts)) => {
                encoder.compress_joined(block.bytes, block.digest.as_ref(), parts, to)?
            }
            (BlockMaker::Common(encoder), None) => encoder.compress(block.bytes, block.digest.as_ref(), to)?,
        };
        Ok(if self.image.pads { pad(outcome, block.bytes.len(), to) } else { outcome })
    }

    fn decode<'a>(&'a mut self, form: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        let (Form::Block { content }, Some(bare)) = (form, self.image.bare) else { return Ok(stored) };
        self.encoder = None;
        let in_words = |error: CodecError| format!("cannot be decoded ({error})");
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(bare.decoder().map_err(in_words)?),
        };
        self.scratch.resize(content as usize, 0);
        let zeros = stored.iter().take_while(|byte| **byte == 0).count();
        let stored = if self.image.pads { &stored[zeros..] } else { stored };
        decoder.fill(stored, &mut self.scratch, BlockPart::Whole).map_err(in_words)?;
        Ok(&self.scratch)
    }
}

/// Puts zeros before compressed bytes, so that they end at the end of a block. Content of `length` bytes that takes as many blocks is not smaller.
fn pad(outcome: Outcome, length: usize, bytes: &mut [u8]) -> Outcome {
    let Outcome::Smaller(size) = outcome else { return outcome };
    let padded = size.next_multiple_of(BLOCK as usize);
    if padded >= length {
        return Outcome::NotSmaller;
    }
    bytes.copy_within(..size, padded - size);
    bytes[..padded - size].fill(0);
    Outcome::Smaller(padded)
}

/// Returns a cluster of zeros, as [`Coder::compress`] makes it.
///
/// # Errors
/// Errors of the codec.
pub(super) fn zeros(coders: &ImageCoders, length: usize) -> Result<Vec<u8>, CodecError> {
    let content = vec![0; length];
    let mut bytes = vec![0; length];
    let block = BlockContent { bytes: &content, digest: None, parts: None };
    match coders.coder().compress(&block, &mut bytes)? {
        Outcome::Smaller(size) => bytes.truncate(size),
        Outcome::NotSmaller => {}
    }
    Ok(bytes)
}
