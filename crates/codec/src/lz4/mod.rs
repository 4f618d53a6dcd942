//! LZ4: raw blocks (lz4 `doc/lz4_Block_format.md`), fast or high compression.

#[allow(unsafe_code)] // calls a C library
mod block;
mod params;

pub use params::Lz4Params;

pub(crate) use block::{Lz4Decoder, Lz4Encoder, state_size};
