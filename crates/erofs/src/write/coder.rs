//! The encoders and decoders of EROFS: blocks without a header.

mod clusters;

use packline_blocks::{BlockContent, BlockSize, Coder, Coders, Form, Start};
use packline_cache::{BlockEncoder, Lookup};
use packline_codec::{BareCodec, BareDecoder, BlockPart, CodecError, Encoder, Outcome, Spec};

use crate::options::{Form as ImageForm, Options};
use clusters::ClusterCoder;
pub(super) use clusters::zeros;

/// Makes the coders of an image.
#[derive(Debug, Clone)]
pub(super) struct ImageCoders {
    codec: Spec,
    /// `None` if nothing is compressed.
    bare: Option<BareCodec>,
    form: ImageForm,
    /// Most bytes of content of a cluster.
    block_size: BlockSize,
    lookup: Lookup,
}

impl ImageCoders {
    pub(super) fn new(options: &Options, start: &Start) -> ImageCoders {
        ImageCoders {
            codec: options.codec.clone(),
            bare: options.bare_codec(),
            form: options.form(),
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
        let decoding = Decoding { bare: self.bare, decoder: None, content: Vec::new() };
        match self.form {
            ImageForm::Clusters => Box::new(ClusterCoder::new(&self.codec, self.block_size, decoding)),
            ImageForm::Flat | ImageForm::Extents => {
                Box::new(BlockCoder { image: self.clone(), encoder: None, decoding })
            }
        }
    }
}

enum BlockMaker {
    /// Looks blocks up first.
    Common(Box<BlockEncoder>),
    Bare(Box<dyn Encoder>),
}

/// Stores each block in any number of bytes.
struct BlockCoder {
    image: ImageCoders,
    /// Created on first use.
    encoder: Option<BlockMaker>,
    decoding: Decoding,
}

impl Coder for BlockCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.image.encoder()?),
        };
        match (encoder, &block.parts) {
            (BlockMaker::Bare(encoder), _) => encoder.compress(block.bytes, to),
            (BlockMaker::Common(encoder), Some(parts)) => {
                encoder.compress_joined(block.bytes, block.digest.as_ref(), parts, to)
            }
            (BlockMaker::Common(encoder), None) => encoder.compress(block.bytes, block.digest.as_ref(), to),
        }
    }

    fn decode<'a>(&'a mut self, form: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        self.encoder = None;
        self.decoding.decode(form, stored)
    }
}

/// A decoder, created on first use, and a buffer for decoded content.
struct Decoding {
    bare: Option<BareCodec>,
    decoder: Option<BareDecoder>,
    content: Vec<u8>,
}

impl Decoding {
    /// Does what [`Coder::decode`] does.
    fn decode<'a>(&'a mut self, form: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        let (Form::Block { content }, Some(bare)) = (form, self.bare) else { return Ok(stored) };
        let in_words = |error: CodecError| format!("cannot be decoded ({error})");
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(bare.decoder().map_err(in_words)?),
        };
        self.content.resize(content as usize, 0);
        decoder.fill(stored, &mut self.content, BlockPart::Whole).map_err(in_words)?;
        Ok(&self.content)
    }
}
