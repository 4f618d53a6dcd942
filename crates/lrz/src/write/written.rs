//! Statistics of writing a file.

/// Sums over a file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Bytes of plain data.
    pub plain: u64,
    /// Bytes of the file.
    pub stored: u64,
    /// Chunks.
    pub chunks: u64,
    /// Matches, however many opcodes each took.
    pub matches: u64,
    /// Bytes that matches stand for.
    pub match_bytes: u64,
    /// Runs of literals, however many opcodes each took.
    pub literals: u64,
    /// Bytes of literals.
    pub literal_bytes: u64,
    /// MD5 of the plain data.
    pub md5: [u8; 16],
    /// Workers that compressed: fewer than asked for where memory is short. 0 if the caller's thread did it.
    pub workers: usize,
    /// Opcodes, and the literals' bytes.
    pub streams: [StreamSums; 2],
}

/// Sums over the blocks of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSums {
    /// Blocks.
    pub blocks: u64,
    /// Those of them that are stored as they are.
    pub raw_blocks: u64,
    /// Bytes before compression.
    pub plain: u64,
    /// Bytes after it, without records.
    pub stored: u64,
}
