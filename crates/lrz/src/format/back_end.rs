//! The back ends: compressors of the blocks of a chunk.

/// A block's compression, by the byte that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackEnd {
    /// Stored as it is.
    None,
    /// A bzip2 stream.
    Bzip2,
    /// Raw LZO1X.
    Lzo,
    /// Raw LZMA1, whose properties are in the magic.
    Lzma,
    /// A zlib stream, which lrzip calls gzip.
    Gzip,
    /// A zpaq block.
    Zpaq,
}

impl BackEnd {
    /// All there are.
    pub const ALL: [BackEnd; 6] =
        [BackEnd::None, BackEnd::Bzip2, BackEnd::Lzo, BackEnd::Lzma, BackEnd::Gzip, BackEnd::Zpaq];

    /// The byte that names it.
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

    /// The one so named, if there is one.
    pub fn of_tag(tag: u8) -> Option<BackEnd> {
        BackEnd::ALL.into_iter().find(|back_end| back_end.tag() == tag)
    }

    /// Its name.
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
