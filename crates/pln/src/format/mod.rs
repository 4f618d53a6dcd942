//! The structures of the format, which docs/format/pln.md describes.

mod codec_id;
mod entry;
mod head;
mod index;
mod piece;
mod shape;
mod sums;
mod trailer;

pub use codec_id::CodecId;
pub(crate) use entry::{ENTRY_BYTES, Entry, Table};
pub use head::MAGIC;
pub(crate) use head::{HEAD_BYTES, Head, VERSION};
pub(crate) use index::{Index, IndexEntry};
pub(crate) use piece::{Kind, PIECE_HEAD_BYTES, PieceHead, Stored};
pub use shape::RecordSize;
pub(crate) use shape::{GROUP, RECORDS_MOST, Shape};
pub(crate) use sums::{Digest, Node, Root, root_of, sum};
pub(crate) use trailer::{TRAILER_BYTES, Trailer};
