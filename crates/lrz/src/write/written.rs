//! Statistics of a written file.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Bytes of plain data.
    pub plain: u64,
    /// Bytes of the file.
    pub stored: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Matches. A match counts once, even if it has several opcodes.
    pub matches: u64,
    /// Bytes covered by matches.
    pub match_bytes: u64,
    /// Runs of literals. A run counts once, even if it has several opcodes.
    pub literals: u64,
    /// Bytes of literals.
    pub literal_bytes: u64,
    /// MD5 of the plain data.
    pub md5: [u8; 16],
    /// Whether the input changed and was read more than once. Matches and literals may then be of two states of the input; reading the file
    /// detects this.
    pub unsteady: bool,
    /// The number of workers: fewer than requested if memory is short; 0 if the caller's thread did the work.
    pub workers: usize,
    /// Counts of stream 0, the opcodes, and of stream 1, the literals.
    pub streams: [StreamSums; 2],
}

/// Counts of the blocks of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSums {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of stored blocks.
    pub raw_blocks: u64,
    /// Bytes before compression.
    pub plain: u64,
    /// Bytes after compression, without records.
    pub stored: u64,
}
