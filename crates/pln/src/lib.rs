//! Our own record container: .pln files, whose format docs/format/pln.md describes.
//!
//! Content of any kind is cut into records of one size, a power of two; each is compressed by itself, with a codec of its own and
//! checksums. Records are written as they come, so that a pipe will do at either end; tables between them and an index behind them
//! lead to any offset, and to all records at once. The sums in there are nodes of BLAKE3's tree over the content, whose root
//! is in the trailer: what b3sum says of the content, and what any part of it is checked against.

mod error;
mod fill;
mod format;
mod map;
mod memory;
mod read;
mod record_buffer;
mod write;

pub use error::{Error, Part};
pub use format::{CodecId, MAGIC, RecordSize};
pub use packline_runtime::{FileInput, Input, Observer, Progress, Resources, Sink, Source, Stream, Unobserved};
pub use read::{Info, Kind, Reader, Span, Unpacked, Verified, decompress, verify};
pub use write::{WriteOptions, Written, compress};
