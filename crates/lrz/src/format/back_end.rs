//! The back ends, which compress blocks, and the filters of version 0.7, which make machine code or tables easier to compress.

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

/// A transformation of bytes before compression, reversed after decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Converts the relative targets of x86 calls and jumps to absolute ones.
    X86,
    /// Converts the relative targets of 64-bit ARM calls to absolute ones.
    Arm64,
    /// Replaces each byte by its difference from the byte that is this many bytes before it, 1 to 4.
    Delta(u8),
}

impl Filter {
    /// Returns the filter of a chunk for the byte in the chunk's header; 0 means no filter.
    pub fn of_chunk(tag: u8) -> Option<Option<Filter>> {
        match tag {
            0 => Some(None),
            1 => Some(Some(Filter::X86)),
            2 => Some(Some(Filter::Arm64)),
            _ => None,
        }
    }

    /// Returns the filter of an LZMA block for the tag of the block's record.
    pub fn of_block(tag: u8) -> Option<Filter> {
        match tag {
            9 => Some(Filter::X86),
            10 => Some(Filter::Arm64),
            11..=14 => Some(Filter::Delta(tag - 10)),
            _ => None,
        }
    }

    /// The name with the parameter, for users.
    pub fn name(self) -> String {
        match self {
            Filter::X86 => "x86".into(),
            Filter::Arm64 => "arm64".into(),
            Filter::Delta(distance) => format!("delta{distance}"),
        }
    }
}
