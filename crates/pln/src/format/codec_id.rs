//! The numbers of the codecs. They never change.

use packline_codec::Spec;
use packline_runtime::Unsupported;

use crate::Error;

/// The number of a record's codec in the record's head. Numbers up to 6 equal those of SquashFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CodecId {
    /// Stored.
    None = 0,
    /// A zlib stream.
    Gzip = 1,
    /// A legacy .lzma stream.
    Lzma = 2,
    /// Raw LZO1X.
    Lzo = 3,
    /// A .xz stream.
    Xz = 4,
    /// A raw LZ4 block.
    Lz4 = 5,
    /// A Zstandard frame.
    Zstd = 6,
    /// A .bz2 stream.
    Bzip2 = 7,
    /// Huff0 blocks.
    Huff0 = 8,
    /// Zero runs in the format of OpenZFS.
    Zle = 9,
}

impl CodecId {
    /// All codecs, in the order of their numbers.
    pub const ALL: [CodecId; 10] = [
        Self::None,
        Self::Gzip,
        Self::Lzma,
        Self::Lzo,
        Self::Xz,
        Self::Lz4,
        Self::Zstd,
        Self::Bzip2,
        Self::Huff0,
        Self::Zle,
    ];

    /// Returns the codec with this number.
    pub(crate) fn from_number(number: u8) -> Option<CodecId> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns the codec that decodes the output of this specification's encoder.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if records cannot be compressed with it.
    pub(crate) fn of(spec: &Spec) -> Result<CodecId, Error> {
        // All encoders of LZ4 have the same decoder.
        let name = if spec.name() == "lz4hc" { "lz4" } else { spec.name() };
        Self::ALL.into_iter().find(|id| id.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(CodecId::name).join(", ");
            Unsupported::new(format!("records compressed with {name}"), known).into()
        })
    }

    /// The name of the codec.
    pub fn name(self) -> &'static str {
        match self {
            CodecId::None => "none",
            CodecId::Gzip => "gzip",
            CodecId::Lzma => "lzma",
            CodecId::Lzo => "lzo",
            CodecId::Xz => "xz",
            CodecId::Lz4 => "lz4",
            CodecId::Zstd => "zstd",
            CodecId::Bzip2 => "bzip2",
            CodecId::Huff0 => "huff0",
            CodecId::Zle => "zle",
        }
    }
}
