//! Our own record container: .pln files, whose format docs/format/pln.md describes.
//!
//! Content of any kind is cut into records of one size, a power of two; each is compressed by itself, with a codec of its own and
//! checksums. Records are written as they come, so that a pipe will do at either end; tables between them and an index behind them
//! lead to any offset, and to all records at once. The sums in there are nodes of BLAKE3's tree over the content, whose root
//! is in the trailer: what b3sum says of the content, and what any part of it is checked against.

mod error;
mod format;
mod input;
mod machine;
mod map;
mod memory;
mod observer;
mod read;
mod room;
mod sink;
mod source;
mod write;

pub use error::{Error, Part};
pub use format::{CodecId, MAGIC, RecordSize};
pub use input::{FileInput, Input};
pub use machine::Machine;
pub use observer::{Observer, Unobserved};
pub use read::{Info, Kind, Reader, Span, Unpacked, Verified, decompress, verify};
pub use sink::Sink;
pub use source::Source;
pub use write::{WriteOptions, Written, compress};
