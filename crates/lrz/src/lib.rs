//! lrzip's container: .lrz files of format 0.6 written, and all since 0.4 read.
//!
//! A file is a magic, chunks, and a digest of the whole. A chunk has two streams: stream 0 are opcodes, literals and matches;
//! stream 1 are the literals' bytes. Each stream is blocks, compressed one by one.

mod crypt;
mod error;
pub mod format;
mod read;
mod spool;
mod write;

pub use error::Error;
pub use format::BackEnd;
pub use packline_runtime::{FileInput, Input, Observer, Progress, Resources, Sink, Source, Stream, Unobserved};
pub use read::{Archive, BlockInfo, Blocks, ChunkInfo, Chunks, ReadOptions, Unpacked, spooled};
pub use write::{Password, Randomness, StreamSums, WindowSize, WriteOptions, Written, compress};
