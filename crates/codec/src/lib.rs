//! Codecs: pure functions of (input, parameters), with their parameters, limits and memory.
//!
//! A codec is named `NAME[:key=value,...]` ([`Spec`]) everywhere. A [`Spec`] creates [`Encoder`]s and [`Decoder`]s; a [`Coding`] also removes
//! trailing zeros before compressing. The output of an encoder never depends on earlier calls. [`Spec::bare_encoder`] and [`BareDecoder`]
//! are for containers that store parameters once for all blocks, so that blocks have no header. [`Spec::fitting_encoder`] fills whole units of
//! storage with such blocks.
//!
//! The crate uses C libraries where they are best. LZO, ZLE, Huff0 and zpaq are our own code, because no library writes their bytes at this
//! speed or safety.
//!
//! For some codecs and levels the crate searches for matches itself:
//!
//! - zstd from level 12: `search/candidates/` finds matches at each position, by hashes or
//!   exactly; `search/zstd/` finds the cheapest path at the real prices of symbols; libzstd codes the sequences.
//! - lz4hc from level 11 and gzip at level 12: `search/longest.rs` finds the longest match at each position, or the nearest of each length;
//!   `lz4/optimal.rs` finds the shortest encoding, `gzip/optimal/` the cheapest path at the prices of each block's own code.
//! - xz and lzma from level 4, in blocks of up to 1 MiB: `search/lzma/` searches and codes. liblzma does the other levels, larger blocks,
//!   .lrz files, deltas and all decoding.

mod anchors;
mod bare;
mod bytes;
mod bzip2;
mod coding;
mod error;
mod fit;
mod gzip;
#[allow(unsafe_code)] // the hot loops
mod huff0;
mod libraries;
mod lz4;
mod lzma;
#[allow(unsafe_code)] // the hot loops
mod lzo;
#[allow(unsafe_code)] // maps memory
mod memory;
mod none;
mod parameters;
mod processor;
mod search;
mod slack;
mod smallest;
mod spec;
mod stream;
mod traits;
mod xz;
#[allow(unsafe_code)] // words of 16 bytes
mod zle;
#[cfg(feature = "zpaq")]
mod zpaq;
mod zstd;

pub use self::bzip2::Bzip2Params;
pub use anchors::{Anchor, add_anchors};
pub use bare::{BareCodec, BareDecoder};
pub use coding::Coding;
pub use error::CodecError;
pub use fit::{Capacity, Fitted, FittingEncoder};
pub use gzip::{GzipEngine, GzipParams, Strategy};
pub use huff0::{Huff0Block, Huff0Decoder, Huff0Encoder, Huff0Streams};
pub use libraries::LIBRARIES;
pub use lz4::Lz4Params;
pub use lzma::{LzmaParams, RawLzma, ReferenceDecoder, ReferenceEncoder, ReferenceLzma, WrappedLzma};
pub use lzo::{LzoAlgorithm, LzoParams};
pub use memory::{SlabBuffer, Slabs, release_freed_memory};
pub use parameters::{Choice, Set};
pub use spec::{METADATA_BLOCK_SIZE, Spec};
pub use stream::{Member, MemberEncoder, StreamEnd, StreamFormat, StreamSpec};
pub use traits::{BlockPart, Decoder, Encoder, Footprint, Outcome};
pub use xz::{Bcj, DictSize, LzmaModel, Percent, RawLzmaReader, XzParams};
#[cfg(feature = "zpaq")]
pub use zpaq::{ZpaqEncoder, ZpaqReader};
pub use zstd::ZstdParams;
