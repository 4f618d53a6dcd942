//! The codecs of SquashFS 4.0, a subset of those of the codec crate: their numbers in the superblock, and the optional block of options.
//!
//! The options are one stored metadata block right after the superblock. lz4 images always have the block. Other images have it if an option
//! differs from the format's default. The kernel reads the block for xz (dictionary size) and lz4 (a version); otherwise it is informational.

pub(crate) mod decode;

use packline_codec::{
    Bcj, Choice, CodecError, GzipParams, Lz4Params, LzoAlgorithm, LzoParams, METADATA_BLOCK_SIZE, Spec, XzParams,
    ZstdParams,
};

use crate::format::superblock::SUPERBLOCK_BYTES;
use crate::format::wire::{Put, metadata_block};
use crate::{BlockSize, Error, Options};

/// The names of SquashFS's codecs, and `none`, in the order of listings.
pub const CODECS: &[&str] = &["none", "gzip", "xz", "lzma", "zstd", "lz4", "lzo"];

/// The only version of the lz4 options: raw blocks.
pub(crate) const LZ4_LEGACY: u32 = 1;

/// Parses a codec as [`Spec::parse`] does.
///
/// # Errors
/// Errors of [`Spec::parse`], and [`CodecError::NotOfFormat`] for a codec that SquashFS does not support.
pub fn parse_codec(text: &str) -> Result<Spec, CodecError> {
    let spec = Spec::parse(text).map_err(list_own_codecs)?;
    check_codec(&spec).map(|()| spec)
}

/// Returns the text of [`Spec::help`] for a codec of SquashFS.
///
/// # Errors
/// SquashFS does not support the codec.
pub fn codec_help(name: &str) -> Result<String, CodecError> {
    parse_codec(name).and_then(|_| Spec::help(name))
}

/// Reduces the list of codecs in an error to the codecs of SquashFS.
fn list_own_codecs(error: CodecError) -> CodecError {
    match error {
        CodecError::UnknownCodec { found, .. } => CodecError::UnknownCodec { found, known: CODECS.join(", ") },
        other => other,
    }
}

/// The error for a codec that SquashFS does not support.
fn no_number(spec: &Spec) -> CodecError {
    CodecError::NotOfFormat { codec: spec.name(), format: "SquashFS", known: CODECS.join(", ") }
}

/// Checks that SquashFS supports a codec.
///
/// # Errors
/// [`CodecError::NotOfFormat`] if SquashFS does not support the codec.
pub fn check_codec(codec: &Spec) -> Result<(), CodecError> {
    compressor_id(codec).map(drop)
}

/// Returns the number of a codec in the superblock. An image whose blocks are all stored has the number of gzip, which every reader supports.
pub(crate) fn compressor_id(codec: &Spec) -> Result<u16, CodecError> {
    Ok(match codec {
        Spec::None | Spec::Gzip(_) => 1,
        Spec::Lzma(_) => 2,
        Spec::Lzo(_) => 3,
        Spec::Xz(_) => 4,
        Spec::Lz4(_) => 5,
        Spec::Zstd(_) => 6,
        Spec::Bzip2(_) | Spec::Huff0 | Spec::Zle => return Err(no_number(codec)),
    })
}

/// Returns the compressor options block with its header; empty if the image has none.
///
/// # Errors
/// [`Error::Codec`] if xz does not support the dictionary size with blocks of this size, or if SquashFS does not support the codec.
pub(crate) fn options_block(options: &Options) -> Result<Vec<u8>, Error> {
    let words = match &options.codec {
        Spec::None | Spec::Lzma(_) => None,
        Spec::Gzip(params) => gzip(params),
        Spec::Xz(params) => xz(params, options.block_size)?,
        Spec::Lzo(params) => lzo(params),
        Spec::Lz4(params) => Some(lz4(params)),
        Spec::Zstd(params) => zstd(params),
        other @ (Spec::Bzip2(_) | Spec::Huff0 | Spec::Zle) => return Err(no_number(other).into()),
    };
    Ok(words.map_or_else(Vec::new, |payload| metadata_block(&payload, true)))
}

/// Offset in bytes of the data area, which starts right after the superblock and the compressor options.
///
/// # Errors
/// Errors of `options_block`.
pub fn data_start(options: &Options) -> Result<u64, Error> {
    Ok(SUPERBLOCK_BYTES + options_block(options)?.len() as u64)
}

/// Level u32, window u16, strategies u16. The format has levels up to 9; higher ones are stored as 9.
fn gzip(params: &GzipParams) -> Option<Vec<u8>> {
    let level = params.level.min(GzipParams::MAX_ZLIB_LEVEL);
    let strategies = params.strategies.iter().fold(0, |all, strategy| all | bit(strategy));
    if (level, params.window, strategies) == (GzipParams::DEFAULT_LEVEL, GzipParams::DEFAULT_WINDOW, 0) {
        return None;
    }
    let mut out = Vec::new();
    out.put_u32(level);
    out.put_u16(params.window as u16);
    out.put_u16(strategies);
    Some(out)
}

/// Dictionary size u32, filters u32. The kernel accepts no dictionary smaller than a metadata block. Its default is the larger of 8192 and the
/// block size.
fn xz(params: &XzParams, block_size: BlockSize) -> Result<Option<Vec<u8>>, Error> {
    let least = METADATA_BLOCK_SIZE as u32;
    let dictionary = params.dict_size(block_size.bytes())?.max(least);
    let filters = params.filters.iter().fold(0, |all, filter: Bcj| all | bit(filter));
    if dictionary == u32::from(block_size).max(least) && filters == 0 {
        return Ok(None);
    }
    let mut out = Vec::new();
    out.put_u32(dictionary);
    out.put_u32(u32::from(filters));
    Ok(Some(out))
}

/// Algorithm u32, level u32. Only lzo1x_999 has levels; its default is 8.
fn lzo(params: &LzoParams) -> Option<Vec<u8>> {
    let level = if params.algorithm == LzoAlgorithm::Lzo1x999 { params.level } else { 0 };
    if *params == LzoParams::default() {
        return None;
    }
    let mut out = Vec::new();
    out.put_u32(place(params.algorithm) as u32);
    out.put_u32(level);
    Some(out)
}

/// Version u32, flags u32: bit 0 for the high compression encoder.
fn lz4(params: &Lz4Params) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_u32(LZ4_LEGACY);
    out.put_u32(u32::from(params.hc));
    out
}

/// Level u32, 1 to 22: a negative level is written as the lowest level of the format.
fn zstd(params: &ZstdParams) -> Option<Vec<u8>> {
    let level = params.level.clamp(1, ZstdParams::MAX_LEVEL);
    (level != ZstdParams::DEFAULT_LEVEL).then(|| level.to_le_bytes().to_vec())
}

/// A codec lists its choices in the order of the format's numbers; a test checks the order.
fn place<T: Choice>(choice: T) -> usize {
    T::ALL.iter().position(|other| *other == choice).unwrap_or(0)
}

fn bit<T: Choice>(choice: T) -> u16 {
    1 << place(choice)
}

#[cfg(test)]
mod tests {
    use packline_codec::Strategy;

    use super::*;

    fn options(codec: &str, block_size: u64) -> Options {
        let mut options = Options::new(codec.parse().unwrap());
        options.block_size = BlockSize::new(block_size).unwrap();
        options
    }

    fn block_of(codec: &str) -> Vec<u8> {
        options_block(&options(codec, 131_072)).unwrap()
    }

    #[test]
    fn defaults_need_no_block_but_lz4_does() {
        for codec in ["none", "gzip", "lzma", "xz", "lzo", "zstd"] {
            assert_eq!(block_of(codec), b"", "{codec}");
            assert_eq!(data_start(&options(codec, 131_072)).unwrap(), 96);
        }
        assert_eq!(block_of("lz4"), b"\x08\x80\x01\0\0\0\0\0\0\0");
        assert_eq!(block_of("lz4:hc"), b"\x08\x80\x01\0\0\0\x01\0\0\0");
        assert_eq!(data_start(&options("lz4", 4096)).unwrap(), 106);
    }

    #[test]
    fn other_options_are_written() {
        assert_eq!(block_of("gzip:level=6"), b"\x08\x80\x06\0\0\0\x0f\0\0\0");
        assert_eq!(block_of("gzip:level=12"), b"");
        assert_eq!(block_of("gzip:window=10,huffman,fixed"), b"\x08\x80\x09\0\0\0\x0a\0\x14\0");
        assert_eq!(block_of("zstd:level=22"), b"\x04\x80\x16\0\0\0");
        assert_eq!(block_of("zstd:level=-5"), b"\x04\x80\x01\0\0\0");
        assert_eq!(block_of("lzo:level=3"), b"\x08\x80\x04\0\0\0\x03\0\0\0");
        assert_eq!(block_of("lzo:algorithm=lzo1x_1"), b"\x08\x80\0\0\0\0\0\0\0\0");
        assert_eq!(block_of("xz:x86,arm64"), b"\x08\x80\0\0\x02\0\x41\0\0\0");
        assert_eq!(block_of("xz:dictsize=64K"), b"\x08\x80\0\0\x01\0\0\0\0\0");
    }

    #[test]
    fn a_dictionary_is_never_smaller_than_a_metadata_block() {
        assert_eq!(options_block(&options("xz", 4096)).unwrap(), b"");
        let block = options_block(&options("xz:x86", 4096)).unwrap();
        assert_eq!(block, b"\x08\x80\0\x20\0\0\x01\0\0\0");
    }

    #[test]
    fn names_are_codecs_with_a_number_or_errors_list_the_codecs() {
        for &name in Spec::names() {
            let read = parse_codec(name);
            let is_ours = CODECS.contains(&name) || name == "lz4hc";
            assert_eq!(read.is_ok(), is_ours, "{name}");
            assert_eq!(codec_help(name).is_ok(), is_ours, "{name}");
            if let Err(error) = read {
                let expected = format!("SquashFS has no {name} (expected one of none, gzip, xz, lzma, zstd, lz4, lzo)");
                assert_eq!(error.to_string(), expected);
            }
        }
        assert_eq!(parse_codec("lz4hc"), Spec::parse("lz4:hc"));
        assert_eq!(parse_codec("gzip:level=0"), Spec::parse("gzip:level=0"));
        assert!(!parse_codec("brotli").unwrap_err().to_string().contains("zle"));
    }

    #[test]
    fn choices_are_in_the_order_of_the_format() {
        use Strategy::{Default, Filtered, Fixed, Huffman, Rle};
        assert_eq!([Default, Filtered, Huffman, Rle, Fixed].map(bit), [1, 2, 4, 8, 16]);
        let filters = [Bcj::X86, Bcj::PowerPc, Bcj::Ia64, Bcj::Arm, Bcj::ArmThumb, Bcj::Sparc, Bcj::Arm64, Bcj::RiscV];
        assert_eq!(filters.map(bit), [1, 2, 4, 8, 16, 32, 64, 128]);
        use LzoAlgorithm::{Lzo1x1, Lzo1x1_11, Lzo1x1_12, Lzo1x1_15, Lzo1x999};
        assert_eq!([Lzo1x1, Lzo1x1_11, Lzo1x1_12, Lzo1x1_15, Lzo1x999].map(place), [0, 1, 2, 3, 4]);
    }
}
