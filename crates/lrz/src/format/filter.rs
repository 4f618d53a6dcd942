//! Filters of 0.7, which make machine code or tables easier to compress.

/// A transformation of bytes before compression, reversed after decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Targets of calls and jumps of x86 are absolute.
    X86,
    /// Targets of calls of 64-bit ARM are absolute.
    Arm64,
    /// Each byte is the difference from the one this many bytes before, 1 to 4.
    Delta(u8),
}

impl Filter {
    /// The filter of a whole chunk by the byte in its header: 0 is none.
    pub fn of_chunk(tag: u8) -> Option<Option<Filter>> {
        match tag {
            0 => Some(None),
            1 => Some(Some(Filter::X86)),
            2 => Some(Some(Filter::Arm64)),
            _ => None,
        }
    }

    /// The filter of a block of LZMA by the tag of its record.
    pub fn of_block(tag: u8) -> Option<Filter> {
        match tag {
            9 => Some(Filter::X86),
            10 => Some(Filter::Arm64),
            11..=14 => Some(Filter::Delta(tag - 10)),
            _ => None,
        }
    }

    /// The name with the parameter, as a user reads it.
    pub fn name(self) -> String {
        match self {
            Filter::X86 => "x86".into(),
            Filter::Arm64 => "arm64".into(),
            Filter::Delta(distance) => format!("delta{distance}"),
        }
    }
}
