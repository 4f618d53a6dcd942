//! The back ends: the compressors of blocks.

/// The compressor of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackEnd {
    /// Blocks are stored.
    None,
    /// A bzip2 stream.
    Bzip2,
    /// Raw LZO1X.
    Lzo,
    /// Raw LZMA1. The magic has its properties.
    Lzma,
    /// A zlib stream, which lrzip calls gzip.
    Gzip,
    /// A zpaq block.
    Zpaq,
}

impl BackEnd {
    /// All back ends, in the order of lrzip's help.
    pub const ALL: [BackEnd; 6] =
        [BackEnd::None, BackEnd::Bzip2, BackEnd::Lzo, BackEnd::Lzma, BackEnd::Gzip, BackEnd::Zpaq];

    /// The byte of the back end in records.
    pub fn tag(self) -> u8 {
        match self {
            BackEnd::None => 3,
            BackEnd::Bzip2 => 4,
            BackEnd::Lzo => 5,
            BackEnd::Lzma => 6,
            BackEnd::Gzip => 7,
            BackEnd::Zpaq => 8,
        }
    }

    /// Returns the back end for a byte in records.
    pub fn of_tag(tag: u8) -> Option<BackEnd> {
        BackEnd::ALL.into_iter().find(|back_end| back_end.tag() == tag)
    }

    /// The name that lrzip prints, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            BackEnd::None => "none",
            BackEnd::Bzip2 => "bzip2",
            BackEnd::Lzo => "lzo",
            BackEnd::Lzma => "lzma",
            BackEnd::Gzip => "gzip",
            BackEnd::Zpaq => "zpaq",
        }
    }
}
