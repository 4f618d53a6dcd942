//! Codecs: pure functions of (input, parameters), with their parameters, limits and memory.
//!
//! A codec is named `NAME[:key=value,...]` ([`Spec`]) everywhere. A [`Spec`] creates [`Encoder`]s and [`Decoder`]s; a [`Coding`] also removes
//! trailing zeros before compressing. The output of an encoder never depends on earlier calls.
//!
//! C libraries are used where they are best. LZO, ZLE, Huff0 and zpaq are our own code, because no library writes their bytes at this speed or
//! safety.
//!
//! Two codecs have our own search for matches, and the library codes what the search finds:
//!
//! - zstd from level 13: `candidates/` finds matches at each position, by hashes or exactly; `zstd/optimal/` finds the cheapest path at the
//!   real prices of symbols; libzstd codes the sequences.
//! - xz and lzma from level 4, in blocks of up to 1 MiB: `lzma_search/` searches and codes. liblzma does the other levels, larger blocks, .lrz
//!   files, deltas and all decoding.

mod bounded;
mod bytes;
mod bzip2;
#[allow(unsafe_code)] // the hot loops
mod candidates;
mod coding;
mod error;
mod gzip;
mod heap;
#[allow(unsafe_code)] // the hot loops
mod huff0;
mod item;
mod libraries;
mod lz4;
mod lzma;
#[allow(unsafe_code)] // the hot loops
mod lzma_search;
#[allow(unsafe_code)] // the hot loops
mod lzo;
#[allow(unsafe_code)] // memory from the system
mod mapping;
mod none;
#[allow(unsafe_code)] // loads without bounds checks
mod place;
mod processor;
mod raw_lzma;
mod reference_lzma;
mod set;
#[allow(unsafe_code)] // memory from the system
mod slabs;
mod slack;
mod smallest;
mod spec;
mod stream;
mod traits;
#[cfg(test)]
mod worst;
mod xz;
mod zle;
#[cfg(feature = "zpaq")]
mod zpaq;
mod zstd;

pub use self::bzip2::Bzip2Params;
pub use coding::Coding;
pub use error::CodecError;
pub use gzip::{GzipEngine, GzipParams, Strategy};
pub use heap::give_back_freed;
pub use huff0::{Huff0Block, Huff0Decoder, Huff0Encoder, Huff0Streams};
pub use libraries::LIBRARIES;
pub use lz4::Lz4Params;
pub use lzma::LzmaParams;
pub use lzo::{LzoAlgorithm, LzoParams};
pub use raw_lzma::RawLzma;
pub use reference_lzma::{ReferenceDecoder, ReferenceEncoder, ReferenceLzma};
pub use set::{Choice, Set};
pub use slabs::{SlabBuffer, Slabs};
pub use spec::{METADATA_BLOCK_SIZE, Spec};
pub use stream::{Member, MemberEncoder, StreamEnd, StreamFormat, StreamSpec};
pub use traits::{Decoder, Encoder, Footprint, Outcome};
pub use xz::{Bcj, DictSize, LzmaModel, Percent, RawLzmaReader, XzParams};
#[cfg(feature = "zpaq")]
pub use zpaq::{ZpaqEncoder, ZpaqReader};
pub use zstd::ZstdParams;
