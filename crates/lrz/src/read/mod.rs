//! Reads .lrz files of versions 0.4 to 0.7: listing, decompression, verification.
//!
//! `info.rs` visits chunks and blocks one at a time, at rising offsets; a listing needs nothing more. `ahead.rs` decompresses blocks of both
//! streams on workers, including those of later chunks. Each stream has its own share of the memory. A block larger than its share is
//! decompressed piece by piece where it is needed (`stream.rs`), with memory lent by the history. `decompress.rs` follows the opcodes.
//! `plain.rs` assembles the chunk in slabs. Slabs stay in memory while they fit; later they are read back from the output, or from an unnamed
//! temporary file if the output is a pipe. `sums.rs` calculates CRC and MD5.

mod ahead;
mod archive;
mod bytes;
mod decode;
mod decompress;
mod info;
mod plain;
mod plan;
mod seal;
mod stored;
mod stream;
mod sums;
mod unfilter;

pub use archive::Archive;
pub use info::{BlockInfo, Blocks, ChunkInfo, Chunks};

/// Options for reading.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// Whether the MD5 of the plain data is calculated even if the file has no MD5.
    pub md5: bool,
}

/// The result of reading a complete file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// Bytes of plain data.
    pub plain: u64,
    /// MD5 of the plain data, if the file has one or [`ReadOptions::md5`] is set.
    pub md5: Option<[u8; 16]>,
    /// The MD5 stored in the file. A mismatch is an error.
    pub stored_md5: Option<[u8; 16]>,
    /// Number of chunks.
    pub chunks: u64,
}
