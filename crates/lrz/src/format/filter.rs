//! The filters of version 0.7, which make machine code or tables easier to compress.

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
