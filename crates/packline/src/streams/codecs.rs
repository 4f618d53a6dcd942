//! Codecs of .lrz and .pln files, written `NAME[:key=value,...]` like the codecs of images.

#[cfg(feature = "pln")]
use packline_codec::Coding;
#[cfg(feature = "lrz")]
use packline_lrz::BackEnd;

use crate::error::Error;

/// Codecs of .lrz files, for messages.
#[cfg(feature = "lrz")]
const OF_LRZ: &str = "none, gzip, bzip2, lzo, lzma or zpaq, with :level=1 to :level=9";
/// Selects several codings of .pln files. Each record gets the best of them.
#[cfg(feature = "pln")]
const AUTO: &str = "auto";

/// Options of a .lrz file with this codec, such as `lzma:level=9`.
///
/// # Errors
/// [`Error::Request`] for an unknown name or parameter, or a level that is not 1 to 9.
#[cfg(feature = "lrz")]
pub fn lrz_options(codec: &str) -> Result<packline_lrz::WriteOptions, Error> {
    let wrong = || Error::Request { what: format!("'{codec}'"), expected: OF_LRZ.to_string() };
    let mut options = packline_lrz::WriteOptions::default();
    let (name, parameters) = codec.split_once(':').map_or((codec, None), |(name, rest)| (name, Some(rest)));
    options.back_end = BackEnd::ALL.into_iter().find(|back_end| back_end.name() == name).ok_or_else(wrong)?;
    for parameter in parameters.into_iter().flat_map(|parameters| parameters.split(',')) {
        let level = parameter.strip_prefix("level=").and_then(|level| level.parse().ok());
        options.level = level.filter(|level| (1..=9).contains(level)).ok_or_else(wrong)?;
    }
    Ok(options)
}

/// Codings of a .pln file by their names: a codec of images, `slack`, `slack+CODEC`, or `auto` for several that are tried.
///
/// # Errors
/// [`Error::Codec`] for an unknown name or parameter.
#[cfg(feature = "pln")]
pub fn pln_codings<T: AsRef<str>>(codecs: &[T]) -> Result<Vec<Coding>, Error> {
    let mut all = Vec::new();
    for text in codecs.iter().map(AsRef::as_ref) {
        match text {
            AUTO => all.extend(packline_pln::WriteOptions::auto()?),
            text => all.push(Coding::parse(text)?),
        }
    }
    Ok(all)
}

#[cfg(all(test, feature = "lrz", feature = "pln"))]
mod tests {
    use super::*;

    #[test]
    fn codecs_of_lrz_files_have_a_name_and_a_level() {
        let options = lrz_options("zpaq:level=9").unwrap();
        assert_eq!((options.back_end, options.level), (BackEnd::Zpaq, 9));
        assert_eq!(lrz_options("none").unwrap().level, packline_lrz::WriteOptions::DEFAULT_LEVEL);
        for wrong in ["", "zstd", "lzma:", "lzma:9", "lzma:level=", "lzma:level=0", "lzma:level=10", "lzma:x=1"] {
            let message = lrz_options(wrong).unwrap_err().to_string();
            assert_eq!(message, format!("'{wrong}' (expected {OF_LRZ})"));
        }
    }

    #[test]
    fn codings_of_pln_files_are_codecs_slack_or_several_at_once() {
        assert_eq!(
            pln_codings(&["slack+zstd:level=3", "auto"]).unwrap().len(),
            1 + pln_codings(&["auto"]).unwrap().len()
        );
        assert!(pln_codings(&["zstd:level=99"]).is_err() && pln_codings(&["best"]).is_err());
    }
}
