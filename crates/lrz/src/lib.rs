//! lrzip's container: writes .lrz files of format 0.6, and reads all formats since 0.4.
//!
//! A file is a magic, chunks, and a digest of the plain data. A chunk has two streams: stream 0 holds opcodes, which are literals and
//! matches; stream 1 holds the bytes of the literals. Each stream is a sequence of separately compressed blocks.

mod crypt;
mod error;
pub mod format;
mod read;
mod spool;
mod write;

pub use error::Error;
pub use format::BackEnd;
pub use packline_runtime::{FileInput, Input, Observer, Pass, Progress, Resources, Sink, Source, Stream, Unobserved};
pub use read::{Archive, BlockInfo, Blocks, ChunkInfo, Chunks, ReadOptions, Unpacked};
pub use spool::spooled;
pub use write::{Password, Randomness, StreamSums, WindowSize, WriteOptions, Written, compress};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
