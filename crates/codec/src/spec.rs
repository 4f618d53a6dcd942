//! A codec with its parameters: parsing, printing, and creating encoders and decoders.

use std::fmt;
use std::str::FromStr;

use crate::bzip2::{Bzip2Decoder, Bzip2Encoder};
use crate::gzip::{Inflater, Trial};
use crate::huff0::{Huff0Decoder, Huff0Encoder};
use crate::lz4::Lz4Decoder;
use crate::lzma::LzmaEncoder;
use crate::lzo::{LzoDecoder, LzoEncoder};
use crate::none::Stored;
use crate::parameters::no_items;
use crate::traits::{Bounded, check_block_size};
use crate::xz::{DictSize, Format, StreamDecoder, XzEncoder};
use crate::zle::{ZleDecoder, ZleEncoder};
use crate::zstd::ZstdDecoder;
use crate::{
    Bzip2Params, CodecError, Decoder, Encoder, Footprint, GzipParams, Lz4Params, LzmaParams, LzoParams, XzParams,
    ZstdParams, bzip2, gzip, huff0, lz4, lzma, lzo, none, xz, zle, zstd,
};

/// Size of a metadata block in bytes, in containers that compress metadata in blocks. [`Spec::metadata_encoder`] is made for this size.
pub const METADATA_BLOCK_SIZE: usize = 8 * 1024;

/// Allowance in bytes for allocator overhead and small structures of an encoder or decoder.
const OVERHEAD: usize = 4 * 1024;

/// A codec with its parameters, written `NAME[:key=value,flag,...]`.
///
/// [`Spec::parse`] parses it. `Display` writes it without the parameters that have their default value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    None,
    /// DEFLATE in a zlib wrapper.
    Gzip(GzipParams),
    /// LZMA2 in .xz.
    Xz(XzParams),
    /// LZMA in legacy .lzma.
    Lzma(LzmaParams),
    Zstd(ZstdParams),
    /// Raw LZ4.
    Lz4(Lz4Params),
    /// Raw LZO1X.
    Lzo(LzoParams),
    /// A bzip2 stream.
    Bzip2(Bzip2Params),
    /// Huff0 blocks of up to 128 KiB.
    Huff0,
    /// ZLE of OpenZFS.
    Zle,
}

impl Spec {
    /// The names of all codecs, in the order of listings. A container may support only some.
    pub fn names() -> &'static [&'static str] {
        &[
            none::NAME,
            gzip::NAME,
            xz::NAME,
            lzma::NAME,
            zstd::NAME,
            lz4::NAME,
            lz4::HC_NAME,
            lzo::NAME,
            bzip2::NAME,
            huff0::NAME,
            zle::NAME,
        ]
    }

    pub fn name(&self) -> &'static str {
        match self {
            Spec::None => none::NAME,
            Spec::Gzip(_) => gzip::NAME,
            Spec::Xz(_) => xz::NAME,
            Spec::Lzma(_) => lzma::NAME,
            Spec::Zstd(_) => zstd::NAME,
            Spec::Lz4(_) => lz4::NAME,
            Spec::Lzo(_) => lzo::NAME,
            Spec::Bzip2(_) => bzip2::NAME,
            Spec::Huff0 => huff0::NAME,
            Spec::Zle => zle::NAME,
        }
    }

    /// Parses `NAME` or `NAME:LIST`. Errors quote the invalid part and describe valid ones.
    pub fn parse(text: &str) -> Result<Spec, CodecError> {
        let (name, list) = text.split_once(':').unwrap_or((text, ""));
        Spec::parse_with_name(name, list)
    }

    /// Parses the parameters `key=value,flag,...` of a codec. An empty list gives the defaults. Parameter names of squashfs-tools-ng and
    /// squashfs-tools are accepted. Errors as for [`Spec::parse`].
    pub fn parse_with_name(name: &str, list: &str) -> Result<Spec, CodecError> {
        match name {
            none::NAME => no_items(none::NAME, list).map(|()| Spec::None),
            gzip::NAME => GzipParams::parse(list).map(Spec::Gzip),
            xz::NAME => XzParams::parse(list).map(Spec::Xz),
            lzma::NAME => LzmaParams::parse(list).map(Spec::Lzma),
            zstd::NAME => ZstdParams::parse(list).map(Spec::Zstd),
            lz4::NAME => Lz4Params::parse(list).map(Spec::Lz4),
            lz4::HC_NAME => Lz4Params::parse_hc(list).map(Spec::Lz4),
            lzo::NAME => LzoParams::parse(list).map(Spec::Lzo),
            bzip2::NAME => Bzip2Params::parse(list).map(Spec::Bzip2),
            huff0::NAME => no_items(huff0::NAME, list).map(|()| Spec::Huff0),
            zle::NAME => no_items(zle::NAME, list).map(|()| Spec::Zle),
            _ => Err(unknown(name)),
        }
    }

    /// A description of a codec's parameters for users: meaning, range and default of each, in lines of up to 100 columns. Returns an error
    /// if the codec is unknown.
    pub fn help(name: &str) -> Result<String, CodecError> {
        let parts: &[&str] = match name {
            none::NAME => &[none::HELP],
            gzip::NAME => &[gzip::HELP],
            xz::NAME => &[xz::HELP, xz::MODEL_HELP, xz::FILTERS_HELP],
            lzma::NAME => &[lzma::HELP, xz::MODEL_HELP],
            zstd::NAME => &[zstd::HELP],
            lz4::NAME => &[lz4::HELP],
            lz4::HC_NAME => &[lz4::HC_HELP],
            lzo::NAME => &[lzo::HELP],
            bzip2::NAME => &[bzip2::HELP],
            huff0::NAME => &[huff0::HELP],
            zle::NAME => &[zle::HELP],
            _ => return Err(unknown(name)),
        };
        Ok(parts.concat())
    }

    /// Checks the parameters for blocks of up to `block_size` bytes.
    pub fn validate(&self, block_size: usize) -> Result<(), CodecError> {
        check_block_size(self.name(), block_size)?;
        match self {
            Spec::None | Spec::Huff0 | Spec::Zle => Ok(()),
            Spec::Gzip(params) => params.check(),
            Spec::Xz(params) => params.check().and(params.dict_size(block_size).map(drop)),
            Spec::Lzma(params) => params.model.check(lzma::NAME).and(params.dict_size(block_size).map(drop)),
            Spec::Zstd(params) => params.check(),
            Spec::Lz4(params) => params.check(),
            Spec::Lzo(params) => params.check(),
            Spec::Bzip2(params) => params.check(),
        }
    }

    /// An encoder for blocks of up to `block_size` bytes. The result for a block depends only on the block and the parameters; `block_size`
    /// matters only where a parameter is a share of it. Errors as for [`Spec::validate`], or for lack of memory.
    pub fn encoder(&self, block_size: usize) -> Result<Box<dyn Encoder>, CodecError> {
        self.validate(block_size)?;
        let limit = block_size;
        Ok(match self {
            Spec::None => Bounded::boxed(Stored, limit),
            Spec::Gzip(params) => Bounded::boxed(Trial::new(params, limit)?, limit),
            Spec::Xz(params) => Bounded::boxed(XzEncoder::new(params, limit, params.dict_size(limit)?), limit),
            Spec::Lzma(params) => Bounded::boxed(LzmaEncoder::new(params, limit, params.dict_size(limit)?), limit),
            Spec::Zstd(params) => Bounded::boxed(zstd::encoder(params, limit, false)?, limit),
            Spec::Lz4(params) => Bounded::boxed(lz4::encoder(params), limit),
            Spec::Lzo(params) => Bounded::boxed(LzoEncoder::new(params), limit),
            Spec::Bzip2(params) => Bounded::boxed(Bzip2Encoder::new(params), limit),
            Spec::Huff0 => Bounded::boxed(Huff0Encoder::new(), limit),
            Spec::Zle => Bounded::boxed(ZleEncoder, limit),
        })
    }

    /// An encoder for metadata blocks of up to [`METADATA_BLOCK_SIZE`] bytes. It has the same parameters, except that the dictionary is as
    /// large as a metadata block, and that it has no branch filters, which do not help metadata.
    pub fn metadata_encoder(&self) -> Result<Box<dyn Encoder>, CodecError> {
        self.for_metadata().encoder(METADATA_BLOCK_SIZE)
    }

    fn for_metadata(&self) -> Spec {
        let mut spec = self.clone();
        match &mut spec {
            Spec::Xz(params) => {
                params.model.dict_size = DictSize::Block;
                params.filters = crate::Set::EMPTY;
                params.auto = false;
            }
            Spec::Lzma(params) => params.model.dict_size = DictSize::Block,
            _ => {}
        }
        spec
    }

    /// A decoder for blocks of up to `block_size` bytes that uses at most `memory_limit` bytes of memory. It ignores the parameters.
    /// Returns an error if every input needs more memory.
    pub fn decoder(&self, block_size: usize, memory_limit: usize) -> Result<Box<dyn Decoder>, CodecError> {
        check_block_size(self.name(), block_size)?;
        let memory = self.decoder_memory();
        if memory > memory_limit {
            let needed = memory as u64;
            let limit = memory_limit as u64;
            return Err(CodecError::Memory { codec: self.name(), needed, limit });
        }
        Ok(match self {
            Spec::None => Box::new(Stored),
            Spec::Gzip(_) => Box::new(Inflater::new()?),
            Spec::Xz(_) => Box::new(StreamDecoder::new(xz::NAME, Format::Xz(None), memory_limit)),
            Spec::Lzma(_) => Box::new(StreamDecoder::new(lzma::NAME, Format::Alone, memory_limit)),
            Spec::Zstd(_) => Box::new(ZstdDecoder::new()?),
            Spec::Lz4(_) => Box::new(Lz4Decoder),
            Spec::Lzo(_) => Box::new(LzoDecoder),
            Spec::Bzip2(_) => Box::new(Bzip2Decoder),
            Spec::Huff0 => Box::new(Huff0Decoder::new()),
            Spec::Zle => Box::new(ZleDecoder),
        })
    }

    /// Upper bounds of the memory of one encoder and one decoder for blocks of up to `block_size` bytes, in bytes. The bound of the decoder
    /// holds for blocks of this codec's encoder.
    pub fn footprint(&self, block_size: usize) -> Footprint {
        let encoder = match self {
            Spec::None | Spec::Zle => 0,
            Spec::Gzip(params) => gzip::encoder_memory(params, block_size),
            Spec::Xz(params) => xz::encoder_memory(params, block_size),
            Spec::Lzma(params) => lzma::encoder_memory(params, block_size),
            Spec::Zstd(params) => zstd::encoder_memory(params, block_size),
            Spec::Lz4(params) => lz4::encoder_memory(params, block_size),
            Spec::Lzo(params) => LzoEncoder::memory(params),
            Spec::Huff0 => Huff0Encoder::MEMORY,
            Spec::Bzip2(params) => bzip2::encoder_memory(params.level_for(block_size)),
        };
        let dict = match self {
            Spec::Xz(XzParams { model, .. }) | Spec::Lzma(LzmaParams { model }) => model.decoder_dict(block_size),
            _ => 0,
        };
        Footprint { encoder: OVERHEAD + encoder, decoder: OVERHEAD + self.decoder_memory() + dict }
    }

    /// Checks that a compressed block has only filters, dictionaries and windows that this codec's encoder uses for blocks of up to
    /// `block_size` bytes. Decoders accept more, but readers with little memory, such as Linux, may not.
    ///
    /// # Errors
    /// [`CodecError::Memory`] or [`CodecError::Malformed`] if this codec's encoder cannot have written the block.
    pub fn check_parameters(&self, block_size: usize, block: &[u8]) -> Result<(), CodecError> {
        match self {
            Spec::Xz(params) => xz::check_parameters(params, block_size, block),
            Spec::Lzma(params) => lzma::check_dictionary(params, block_size, block),
            Spec::Zstd(_) => zstd::check_window(block_size, block),
            _ => Ok(()),
        }
    }

    /// Memory in bytes of a decoder that does not depend on its input.
    fn decoder_memory(&self) -> usize {
        match self {
            Spec::None | Spec::Zle | Spec::Lz4(_) | Spec::Lzo(_) => 0,
            Spec::Huff0 => Huff0Decoder::MEMORY,
            Spec::Bzip2(_) => bzip2::DECODER_MEMORY,
            Spec::Gzip(_) => gzip::DECODER_MEMORY,
            Spec::Xz(_) | Spec::Lzma(_) => xz::DECODER_MEMORY,
            Spec::Zstd(_) => zstd::decoder_memory(),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self {
            Spec::None | Spec::Huff0 | Spec::Zle => String::new(),
            Spec::Gzip(params) => params.print(),
            Spec::Xz(params) => params.print(),
            Spec::Lzma(params) => params.print(),
            Spec::Zstd(params) => params.print(),
            Spec::Lz4(params) => params.print(),
            Spec::Lzo(params) => params.print(),
            Spec::Bzip2(params) => params.print(),
        };
        let colon = if list.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{list}", self.name())
    }
}

impl FromStr for Spec {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Spec, CodecError> {
        Spec::parse(text)
    }
}

fn unknown(name: &str) -> CodecError {
    CodecError::UnknownCodec { found: name.to_owned(), known: Spec::names().join(", ") }
}
