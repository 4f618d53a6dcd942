//! Deltas between two files, based on decoded content. `docs/format/delta.md` specifies the format.
//!
//! A file has a plain form (`plain/`). If the file contains a SquashFS image, the image's blocks are decoded in the plain form; any other
//! file is its own plain form.
//!
//! Writing a delta (`make/`) finds the bytes that the plain forms of NEW and OLD have in common. The matcher of .lrz files finds repeats
//! over both files. The remaining bytes are compressed in groups, on all workers, with nearby bytes of OLD as a reference.
//!
//! Applying a delta (`apply/`) builds the plain form of NEW chunk by chunk, and encodes its blocks with the codec that gives the same bytes.
//! A block that no codec reproduces is not decoded. A block that OLD stores with the same bytes is copied, not encoded.
//!
//! A delta depends only on both files and the options. The hash of NEW is checked before the caller gives the output its name.
#![forbid(unsafe_code)]

mod apply;
mod error;
mod format;
mod make;
mod passes;
mod plain;

pub use apply::{Patched, patch};
pub use error::{Error, Side};
pub use format::head::{FileSum, Head, MAGIC};
pub use make::{BlockCounts, DeltaOptions, Made, delta};

/// Returns a number that identifies the encoders of a codec. Versions with the same number encode to the same bytes.
fn encoders(spec: &packline_codec::Spec, block_size: packline_squashfs::BlockSize) -> u64 {
    let hash = packline_cache::encoder_hash(spec, block_size.bytes());
    hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}
