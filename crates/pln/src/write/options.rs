//! The options for writing.

use packline_codec::{CodecError, Coding};

use crate::RecordSize;

/// The options for writing. The bytes of a file are a function of the content and of these options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// The bytes of content in a record.
    pub record_size: RecordSize,
    /// How records are compressed. Each record is compressed with every coding, and the shortest form is kept; if several have the same
    /// length, the first one is kept. A record that no coding makes shorter is stored. Without codings, every record is stored.
    pub codings: Vec<Coding>,
}

/// The codings that [`WriteOptions::auto`] tries, fastest decoder first.
const AUTO: [&str; 2] = ["slack+lz4", "slack+zstd:level=3"];
/// The default coding of records.
const DEFAULT: &str = "slack+zstd:level=3";

impl WriteOptions {
    /// Returns options with the default record size and one coding.
    pub fn with(coding: Coding) -> WriteOptions {
        WriteOptions { record_size: RecordSize::default(), codings: vec![coding] }
    }

    /// Returns options with the default record size and the default coding.
    ///
    /// # Errors
    /// Never returns an error, unless this program has a bug.
    pub fn usual() -> Result<WriteOptions, CodecError> {
        Ok(WriteOptions::with(Coding::parse(DEFAULT)?))
    }

    /// Returns the codings that `auto` tries on each record: several kinds of codecs, fast ones first.
    ///
    /// # Errors
    /// Never returns an error, unless this program has a bug.
    pub fn auto() -> Result<Vec<Coding>, CodecError> {
        AUTO.iter().map(|text| Coding::parse(text)).collect()
    }
}
