//! The record container: .pln files, whose format docs/format/pln.md specifies.
//!
//! The content is cut into records of one size, a power of two. Each record is compressed separately, and has its own codec and checksums.
//! Records are written sequentially, so that either end can be a pipe. Tables between the records and an index after them give access to any
//! offset, and to all records in parallel. The records' hashes are nodes of BLAKE3's tree over the content. The root is in the trailer: it
//! equals the output of b3sum for the content, and any part of the content can be verified against it.

mod error;
mod format;
mod memory;
mod read;
mod record_buffer;
mod write;

pub use error::{Error, Part};
pub use format::{CodecId, MAGIC, RecordSize};
pub use packline_runtime::{FileInput, Input, Observer, Progress, Resources, Sink, Source, Stream, Unobserved};
pub use read::{
    ContentReader, Info, Reader, RecordKind, Salvaged, Span, Unpacked, Verified, decompress, salvage, verify,
};
pub use write::{WriteOptions, Written, compress, compress_with};
