//! Statistics of writing a file.

/// Counts of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Bytes of plain data.
    pub plain: u64,
    /// Bytes of the file.
    pub stored: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Matches, independent of the number of opcodes of each.
    pub matches: u64,
    /// Bytes covered by matches.
    pub match_bytes: u64,
    /// Runs of literals, independent of the number of opcodes of each.
    pub literals: u64,
    /// Bytes of literals.
    pub literal_bytes: u64,
    /// MD5 of the plain data.
    pub md5: [u8; 16],
    /// Whether the input changed and was read more than once. Matches and literals may then be of two states of it, which reading the file tells.
    pub unsteady: bool,
    /// Workers that compressed: fewer than requested if memory is short. 0 if the caller's thread did it.
    pub workers: usize,
    /// Opcodes, and the literals' bytes.
    pub streams: [StreamSums; 2],
}

/// Counts of the blocks of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSums {
    /// Blocks.
    pub blocks: u64,
    /// Stored blocks.
    pub raw_blocks: u64,
    /// Bytes before compression.
    pub plain: u64,
    /// Bytes after it, without records.
    pub stored: u64,
}
