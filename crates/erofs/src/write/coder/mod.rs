//! The encoders and decoders of EROFS: blocks without a header.

mod bare;
mod clusters;

use packline_blocks::{BlockContent, Coder, Coders, Form, Start};
use packline_cache::{BlockCodec, BlockEncoder, EncoderForm, Lookup, encoder_hash, encoder_hash_of_form};
use packline_codec::{BareCodec, BareDecoder, BlockPart, CodecError, Outcome, Spec};

use crate::options::{Form as ImageForm, Inline, Options};
use bare::BareBlocks;
use clusters::ClusterCoder;
pub(super) use clusters::{SegmentCodec, zeros};

/// Makes the coders of an image.
#[derive(Debug, Clone)]
pub(super) struct ImageCoders {
    codec: Spec,
    /// `None` if nothing is compressed.
    bare: Option<BareCodec>,
    form: ImageForm,
    /// Most bytes of content of a cluster.
    cluster_most: usize,
    /// The segment size, if ends of files may follow their inodes.
    ends: Option<usize>,
    /// Whether other containers have the same blocks.
    has_common_blocks: bool,
    encoder: EncoderForm,
    lookup: Lookup,
}

impl ImageCoders {
    pub(super) fn new(options: &Options, start: &Start) -> ImageCoders {
        ImageCoders {
            codec: options.codec.clone(),
            bare: options.bare_codec(),
            form: options.form(),
            cluster_most: options.cluster_most(),
            ends: has_ends(options).then(|| options.segment_size().bytes()),
            has_common_blocks: options.has_common_blocks(),
            encoder: encoder_form(options),
            lookup: start.lookup.clone(),
        }
    }

    fn encoder(&self) -> Result<BlockEncoder, CodecError> {
        let codec: Box<dyn BlockCodec> = match self.form {
            _ if self.has_common_blocks || self.bare.is_none() => {
                return BlockEncoder::new(&self.lookup, &self.codec, self.cluster_most);
            }
            ImageForm::Clusters => Box::new(SegmentCodec::new(self)),
            ImageForm::Flat | ImageForm::Extents => Box::new(BareBlocks::new(self)),
        };
        Ok(BlockEncoder::of_codec(self.lookup.clone(), &self.encoder, codec))
    }

    fn decoding(&self) -> Decoding {
        Decoding { bare: self.bare, decoder: None, content: Vec::new() }
    }
}

/// Whether ends of files may follow their inodes, compressed or not.
fn has_ends(options: &Options) -> bool {
    options.inline() == Inline::Ends
}

/// Returns what determines the compressed blocks or segments of an image.
pub(crate) fn encoder_form(options: &Options) -> EncoderForm {
    let size = options.cluster_most();
    let hash = match options.form() {
        _ if options.has_common_blocks() => encoder_hash(&options.codec, size),
        ImageForm::Clusters => {
            encoder_hash_of_form(&options.codec, size, &SegmentCodec::form(&options.codec, has_ends(options)))
        }
        ImageForm::Flat | ImageForm::Extents => encoder_hash_of_form(&options.codec, size, bare::FORM),
    };
    EncoderForm { hash, largest: options.largest_block() }
}

impl Coders for ImageCoders {
    fn coder(&self) -> Box<dyn Coder> {
        match self.form {
            ImageForm::Clusters => Box::new(ClusterCoder::new(self)),
            ImageForm::Flat | ImageForm::Extents => {
                Box::new(BlockCoder { image: self.clone(), encoder: None, decoding: self.decoding() })
            }
        }
    }
}

/// Stores each block in any number of bytes.
struct BlockCoder {
    image: ImageCoders,
    /// Created on first use.
    encoder: Option<BlockEncoder>,
    decoding: Decoding,
}

impl Coder for BlockCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.image.encoder()?),
        };
        encoder.compress_block(block.bytes, &block.digests(), to)
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
