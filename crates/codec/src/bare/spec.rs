//! The encoders of blocks without a header, and what a container stores once for all blocks of an encoder.

use super::{BareCodec, OVERHEAD};
use crate::gzip::BareDeflater;
use crate::lzma::MicroEncoder;
use crate::traits::Bounded;
use crate::{CodecError, Encoder, Footprint, Spec, gzip, lz4, lzma, none, zstd};

/// The codecs that have blocks without a header.
const CODECS: [&str; 6] = [none::NAME, lz4::NAME, lz4::HC_NAME, lzma::NAME, gzip::NAME, zstd::NAME];
/// Smallest dictionary of lzma in EROFS in bytes.
const LEAST_DICTIONARY: usize = 8 << 10;
/// Smallest window of zstd in bytes.
const LEAST_WINDOW: usize = 1 << 10;

impl BareCodec {
    /// Largest block of an encoder in bytes: the largest window of zstd in EROFS.
    pub const LARGEST: usize = 1 << 20;
    /// Largest distance of a match in bytes in blocks of lz4.
    pub const LZ4_DISTANCE: u16 = u16::MAX;
    /// Binary logarithm of the window in bytes in blocks of DEFLATE. Encoders with smaller windows exist, but every decoder has this one.
    pub const DEFLATE_WINDOW_LOG: u8 = 15;
}

impl Spec {
    /// Parses as [`Spec::parse`] does. The error for an unknown codec lists the codecs that have blocks without a header.
    pub fn parse_bare(text: &str) -> Result<Spec, CodecError> {
        Spec::parse(text).map_err(|error| match error {
            CodecError::UnknownCodec { found, .. } => CodecError::UnknownCodec { found, known: CODECS.join(", ") },
            other => other,
        })
    }

    /// What a decoder needs to know about blocks of [`Spec::bare_encoder`]. `None` for the codec `none`.
    ///
    /// # Errors
    /// [`CodecError::NotOfFormat`] if the codec's blocks need a header; [`CodecError::BlockSize`] unless `largest` is 1 to
    /// [`BareCodec::LARGEST`] bytes; otherwise as [`Spec::validate`].
    pub fn bare_codec(&self, largest: usize) -> Result<Option<BareCodec>, CodecError> {
        if !(1..=BareCodec::LARGEST).contains(&largest) {
            return Err(CodecError::BlockSize { codec: self.name(), found: largest, limit: BareCodec::LARGEST });
        }
        self.validate(largest)?;
        match self {
            Spec::None => Ok(None),
            Spec::Lz4(_) => Ok(Some(BareCodec::Lz4)),
            Spec::Gzip(_) => Ok(Some(BareCodec::Deflate)),
            Spec::Lzma(params) => {
                // Distances are less than the content of a block, though the dictionary of other formats is a power of two.
                let most = largest.max(LEAST_DICTIONARY) as u32;
                Ok(Some(BareCodec::MicroLzma { dict_size: params.dict_size(largest)?.min(most) }))
            }
            Spec::Zstd(_) => {
                let window = largest.next_power_of_two().max(LEAST_WINDOW) as u32;
                Ok(Some(BareCodec::Zstd { window }))
            }
            Spec::Xz(_) | Spec::Lzo(_) | Spec::Bzip2(_) | Spec::Huff0 | Spec::Zle => {
                Err(CodecError::NotOfFormat { codec: self.name(), format: "EROFS", known: CODECS.join(", ") })
            }
        }
    }

    /// An encoder of blocks of up to `largest` bytes that have no header of their own. The first byte of a block is never 0. The result for
    /// a block depends on the block and the parameters, as that of [`Spec::encoder`].
    ///
    /// # Errors
    /// As [`Spec::bare_codec`]; lack of memory.
    pub fn bare_encoder(&self, largest: usize) -> Result<Box<dyn Encoder>, CodecError> {
        self.bare_codec(largest)?;
        Ok(match self {
            Spec::Gzip(params) => Bounded::boxed(BareDeflater::new(params, largest)?, largest),
            Spec::Lzma(params) => Bounded::boxed(MicroEncoder::new(params, largest)?, largest),
            _ => self.encoder(largest)?,
        })
    }

    /// The memory of [`Spec::bare_encoder`] and of a [`BareDecoder`](crate::BareDecoder) of its blocks, in bytes.
    ///
    /// # Errors
    /// As [`Spec::bare_codec`].
    pub fn bare_footprint(&self, largest: usize) -> Result<Footprint, CodecError> {
        let decoder = self.bare_codec(largest)?.map_or(0, BareCodec::memory);
        let encoder = match self {
            Spec::Gzip(params) => OVERHEAD + BareDeflater::memory(params, largest),
            Spec::Lzma(params) => OVERHEAD + MicroEncoder::memory(params, largest),
            _ => self.footprint(largest).encoder,
        };
        Ok(Footprint { encoder, decoder })
    }

    /// The name and parameters of the codec of blocks without a header, for keys of caches. It equals the printed codec if the blocks equal
    /// those of [`Spec::encoder`].
    pub fn bare_name(&self) -> String {
        let printed = self.to_string();
        let list = printed.strip_prefix(self.name()).unwrap_or_default();
        match self {
            Spec::Gzip(_) => format!("{}{list}", gzip::DEFLATE),
            Spec::Lzma(_) => format!("{}{list}", lzma::MICRO_NAME),
            _ => printed,
        }
    }
}
