//! The options that determine the bytes of a file, besides its content.

use packline_codec::{CodecError, Coding};

use crate::RecordSize;

/// The options that determine the bytes of a file, besides its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Bytes of a record.
    pub record_size: RecordSize,
    /// How records are compressed. Where there are several, each record is compressed with all of them, and what is shortest stays:
    /// the first of those that are alike. What does not get shorter is stored. None at all stores everything.
    pub codings: Vec<Coding>,
}

/// Codings that [`WriteOptions::auto`] tries, fastest decoder first.
const AUTO: [&str; 2] = ["slack+lz4", "slack+zstd:level=3"];
/// The default coding of records.
const DEFAULT: &str = "slack+zstd:level=3";

impl WriteOptions {
    /// Records of the default size, all with one coding.
    pub fn with(coding: Coding) -> WriteOptions {
        WriteOptions { record_size: RecordSize::default(), codings: vec![coding] }
    }

    /// Records of the default size, compressed with what `DEFAULT` says.
    ///
    /// # Errors
    /// None, unless this program is at fault.
    pub fn usual() -> Result<WriteOptions, CodecError> {
        Ok(WriteOptions::with(Coding::parse(DEFAULT)?))
    }

    /// The codings that `auto` tries on each record: several kinds of codecs, fast ones first.
    ///
    /// # Errors
    /// None, unless this program is at fault.
    pub fn auto() -> Result<Vec<Coding>, CodecError> {
        AUTO.iter().map(|text| Coding::parse(text)).collect()
    }
}
