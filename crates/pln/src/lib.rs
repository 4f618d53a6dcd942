//! Our own record container: .pln files, whose format docs/format/pln.md describes.
//!
//! Content of any kind is cut into records of one size, a power of two; each is compressed separately, with its own codec and checksums.
//! Records are written sequentially, so that a pipe is possible at either end; tables between them and an index after them give access
//! to any offset, and to all records in parallel. Their hashes are nodes of BLAKE3's tree over the content, whose root is in the
//! trailer: equal to the output of b3sum for the content, and any part of it can be verified against it.

mod error;
mod fill;
mod format;
mod memory;
mod read;
mod record_buffer;
mod write;

pub use error::{Error, Part};
pub use format::{CodecId, MAGIC, RecordSize};
pub use packline_runtime::{FileInput, Input, Observer, Progress, Resources, Sink, Source, Stream, Unobserved};
pub use read::{ContentReader, Info, Kind, Reader, Salvaged, Span, Unpacked, Verified, decompress, salvage, verify};
pub use write::{WriteOptions, Written, compress, compress_with};
