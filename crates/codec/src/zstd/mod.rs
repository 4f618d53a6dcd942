//! zstd: one frame per block (RFC 8878), with its content size, without checksum or dictionary.

#[allow(unsafe_code)] // calls a C library
mod context;
mod encoder;
mod library;
#[allow(unsafe_code)] // calls a C library
mod library_params;
mod params;
#[allow(unsafe_code)] // calls a C library
mod reader;
pub(crate) mod sequences;

pub use params::ZstdParams;

pub(crate) use context::bound;
pub(crate) use encoder::{encoder, encoder_memory};
pub(crate) use reader::{ZstdDecoder, check_window, decoder_memory};

pub(crate) const NAME: &str = "zstd";

pub(crate) const HELP: &str = "\
zstd: one frame per block
  level=1..22        effort (default 15); also compression-level=
  level=-131072..-1  faster than 1, and larger
  level=max          smallest, in three times the time of 22; same as 22 for blocks over 1M
";
