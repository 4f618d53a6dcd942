//! How a record is encoded: `slack` (optional), then a codec.

use std::fmt;
use std::str::FromStr;

use crate::parameters::no_items;
use crate::{CodecError, Decoder, Encoder, Footprint, Spec, none, slack};

/// Separates `slack` from the codec that compresses the rest.
const SEPARATOR: char = '+';

/// A codec, and whether trailing zeros of a record are removed before it. Written `slack`, `slack+zstd:level=3` or `zstd:level=3`.
///
/// The encoder compresses the record's [`Coding::view`]; if the result is not smaller, the view is stored. The decoder restores the
/// view and appends zeros up to the record's logical size, which the container stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coding {
    /// Whether trailing zeros are removed.
    pub slack: bool,
    /// Codec for the view; [`Spec::None`] for `slack` without a codec.
    pub spec: Spec,
}

impl Coding {
    /// The names that a coding may start with: `slack` and all codecs.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once(slack::NAME).chain(Spec::names().iter().copied())
    }

    /// Parses `slack`, `slack+CODEC` or `CODEC`. [`Spec::parse`] parses the codec.
    ///
    /// # Errors
    /// Quotes the invalid part and names valid ones.
    pub fn parse(text: &str) -> Result<Coding, CodecError> {
        let (first, rest) = text.split_once(SEPARATOR).unwrap_or((text, none::NAME));
        let (name, list) = first.split_once(':').unwrap_or((first, ""));
        if name != slack::NAME {
            return Spec::parse(text).map(Coding::from).map_err(with_slack);
        }
        no_items(slack::NAME, list)?;
        Ok(Coding { slack: true, spec: Spec::parse(rest)? })
    }

    /// As [`Spec::help`], and also for `slack`.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn help(name: &str) -> Result<String, CodecError> {
        if name == slack::NAME { Ok(slack::HELP.to_owned()) } else { Spec::help(name).map_err(with_slack) }
    }

    /// The part of a record that the codec compresses: all of it, or the bytes before the trailing zeros.
    pub fn view<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        if self.slack { slack::trim(record) } else { record }
    }

    /// Checks the parameters for records of up to `record_size` bytes.
    ///
    /// # Errors
    /// As [`Spec::validate`].
    pub fn validate(&self, record_size: usize) -> Result<(), CodecError> {
        self.spec.validate(record_size)
    }

    /// An encoder for views of records of up to `record_size` bytes. An empty view never gets smaller.
    ///
    /// # Errors
    /// As [`Spec::encoder`].
    pub fn encoder(&self, record_size: usize) -> Result<Box<dyn Encoder>, CodecError> {
        self.spec.encoder(record_size)
    }

    /// A decoder for records of up to `record_size` bytes.
    ///
    /// # Errors
    /// As [`Spec::decoder`].
    pub fn decoder(&self, record_size: usize, memory_limit: usize) -> Result<Box<dyn Decoder>, CodecError> {
        self.spec.decoder(record_size, memory_limit)
    }

    /// Memory in bytes of one encoder and one decoder; `slack` needs none.
    pub fn footprint(&self, record_size: usize) -> Footprint {
        self.spec.footprint(record_size)
    }
}

impl From<Spec> for Coding {
    fn from(spec: Spec) -> Coding {
        Coding { slack: false, spec }
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.slack, &self.spec) {
            (false, spec) => write!(f, "{spec}"),
            (true, Spec::None) => f.write_str(slack::NAME),
            (true, spec) => write!(f, "{}{SEPARATOR}{spec}", slack::NAME),
        }
    }
}

impl FromStr for Coding {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Coding, CodecError> {
        Coding::parse(text)
    }
}

/// Adds `slack` to the list of names in an error.
fn with_slack(error: CodecError) -> CodecError {
    match error {
        CodecError::UnknownCodec { found, .. } => {
            CodecError::UnknownCodec { found, known: Coding::names().collect::<Vec<_>>().join(", ") }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    #[test]
    fn printed_text_parses_to_the_same() {
        for (typed, printed, slack) in [
            ("slack", "slack", true),
            ("slack+none", "slack", true),
            ("none", "none", false),
            ("slack+zstd:level=3", "slack+zstd:level=3", true),
            ("slack+zstd:level=15", "slack+zstd", true),
            ("zstd:level=-3", "zstd:level=-3", false),
        ] {
            let coding = Coding::parse(typed).unwrap();
            assert_eq!((coding.to_string().as_str(), coding.slack), (printed, slack));
            assert_eq!(printed.parse(), Ok(coding));
        }
    }

    #[test]
    fn errors_name_valid_values() {
        let error = |typed| Coding::parse(typed).unwrap_err().to_string();
        for typed in ["slak", "slak+lz4", "lz4+slack", ""] {
            assert!(error(typed).starts_with(&format!("unknown codec '{typed}' (expected one of slack, none, ")));
        }
        for (typed, found) in [("slack+", ""), ("slack+slack", "slack"), ("slack+lz4+zle", "lz4+zle")] {
            assert!(error(typed).starts_with(&format!("unknown codec '{found}' (expected one of none, ")));
        }
        assert_eq!(error("slack:level=1"), "slack: unknown parameter 'level' (expected no parameters)");
        assert_eq!(error("slack+none:x"), "none: unknown parameter 'x' (expected no parameters)");
    }

    #[test]
    fn codec_compresses_the_view() {
        let record = [b"no zeros at its end".repeat(9), vec![0; 900]].concat();
        let coding = Coding::parse("slack+lz4").unwrap();
        let view = coding.view(&record);
        assert_eq!(view.len(), 171);
        assert_eq!(Coding::parse("lz4").unwrap().view(&record), record);
        let mut out = vec![0xA5; record.len()];
        let Outcome::Smaller(size) = coding.encoder(2048).unwrap().compress(view, &mut out).unwrap() else { panic!() };
        let mut back = vec![0; record.len()];
        let made = coding.decoder(2048, 1 << 20).unwrap().decompress(&out[..size], &mut back).unwrap();
        assert_eq!(made, view.len());
        assert_eq!(&back[..made], view);
        assert_eq!(coding.encoder(2048).unwrap().compress(b"", &mut out), Ok(Outcome::NotSmaller));
        assert_eq!(coding.footprint(2048), Spec::parse("lz4").unwrap().footprint(2048));
        assert!(coding.validate(0).is_err());
    }

    #[test]
    fn every_name_has_help() {
        for name in Coding::names() {
            assert!(Coding::help(name).unwrap().starts_with(&format!("{name}: ")), "{name}");
        }
        assert!(Coding::help("slak").unwrap_err().to_string().contains("one of slack, none"));
    }
}
