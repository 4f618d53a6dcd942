//! The codecs of SquashFS 4.0, a subset of those of the codec crate.

use packline_codec::{CodecError, Spec};

use crate::format::compressor::number;

/// The names of SquashFS's codecs, and `none`, in the order of listings.
pub const CODECS: &[&str] = &["none", "gzip", "xz", "lzma", "zstd", "lz4", "lzo"];

/// Parses a codec as [`Spec::parse`] does.
///
/// # Errors
/// As there, and [`CodecError::NotOfFormat`] for a codec that SquashFS does not support.
pub fn parse_codec(text: &str) -> Result<Spec, CodecError> {
    let spec = Spec::parse(text).map_err(ours)?;
    check_codec(&spec).map(|()| spec)
}

/// As [`Spec::help`], for SquashFS's codecs.
///
/// # Errors
/// SquashFS does not support the codec.
pub fn codec_help(name: &str) -> Result<String, CodecError> {
    parse_codec(name).and_then(|_| Spec::help(name))
}

/// Checks that SquashFS supports a codec.
///
/// # Errors
/// [`CodecError::NotOfFormat`] if not.
pub fn check_codec(spec: &Spec) -> Result<(), CodecError> {
    number(spec).map(drop)
}

/// The error for a codec that SquashFS does not support.
pub(crate) fn no_number(spec: &Spec) -> CodecError {
    CodecError::NotOfFormat { codec: spec.name(), format: "SquashFS", known: CODECS.join(", ") }
}

/// Reduces the list of codecs in an error to those of SquashFS.
fn ours(error: CodecError) -> CodecError {
    match error {
        CodecError::UnknownCodec { found, .. } => CodecError::UnknownCodec { found, known: CODECS.join(", ") },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_a_codec_that_has_a_number_or_is_refused_with_those_that_have() {
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
}
