//! Reads .lrz files of versions 0.4 to 0.7: listing, decompression, verification.
//!
//! `info.rs` visits chunks and blocks one at a time, each at a higher offset than the one before; a listing needs nothing else. `ahead.rs`
//! decompresses blocks of both streams on workers, each stream with its own share of memory, later chunks included. A block larger
//! than its share is decompressed piece by piece where it is needed (`stream.rs`), with memory taken from the history. `decompress.rs`
//! follows the opcodes; `plain.rs` assembles the chunk in slabs, which stay in memory while there is room and are then read back
//! from the output, or from an unnamed temporary file where the output is a pipe. `sums.rs` computes CRC and MD5.

mod ahead;
mod archive;
mod bytes;
mod decode;
mod decompress;
mod info;
mod plain;
mod plan;
mod seal;
mod spooled;
mod stored;
mod stream;
mod sums;
mod unfilter;
mod unfiltered;

pub use archive::Archive;
pub use info::{BlockInfo, Blocks, ChunkInfo, Chunks};
pub use spooled::spooled;

/// Options for reading.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// Compute the MD5 of the plain data even if the file has none to compare with.
    pub md5: bool,
}

/// Result of reading a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// Bytes of plain data.
    pub plain: u64,
    /// Their MD5, if the file has one or [`ReadOptions::md5`] is set.
    pub md5: Option<[u8; 16]>,
    /// The MD5 in the file. A mismatch is an error.
    pub stored_md5: Option<[u8; 16]>,
    /// Number of chunks.
    pub chunks: u64,
}
