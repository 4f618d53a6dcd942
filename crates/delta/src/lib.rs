//! Deltas between two files, made on decoded content: `docs/format/delta.md` is the format.
//!
//! A file has a plain form (`plain/`): where it contains a SquashFS image, its blocks are decoded in it; any other file is its own plain form.
//! Making a delta (`make/`) finds what the plain form of NEW has in common with that of OLD: first repeats over the whole of both, with the
//! matcher of .lrz files; what is left over is compressed with the bytes of OLD around it as a reference, in groups, on all workers.
//! Applying it (`apply/`) makes the plain form of NEW piece by piece and encodes its blocks again, with the codec that gave their bytes; a
//! block that no codec reproduces is kept as it is stored. Blocks that OLD has as they are stored are copied and not encoded.
//!
//! A delta depends on both files and the options alone. NEW is checked by its hash before the caller gives it its name.
#![forbid(unsafe_code)]

mod apply;
mod error;
mod format;
mod hash;
mod make;
mod passes;
mod plain;

pub use apply::{Patched, patch};
pub use error::{Error, Side};
pub use format::head::{FileSum, Head, MAGIC};
pub use make::{BlockCounts, DeltaOptions, Made, delta};

/// Identifies the encoders of a codec: their bytes are those of this version and of others for which this is the same.
fn encoders(spec: &packline_codec::Spec, block_size: packline_squashfs::BlockSize) -> u64 {
    let hash = packline_cache::encoder_hash(spec, block_size.bytes());
    hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}
