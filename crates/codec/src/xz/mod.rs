//! xz: one .xz stream of one block (xz `doc/xz-file-format.txt`) with LZMA2 and at most one branch filter.

#[allow(unsafe_code)] // calls a C library
mod bare_reader;
#[allow(unsafe_code)] // calls a C library
mod branch;
mod check;
mod choice;
mod codec;
pub(crate) mod container;
mod detection;
mod dict;
mod model;
mod params;
#[cfg(test)]
mod samples;
mod settings;
#[allow(unsafe_code)] // calls a C library
mod stream;
#[allow(unsafe_code)] // memory for a C library
mod tables;

pub use bare_reader::RawLzmaReader;
pub use dict::{DictSize, Percent};
pub use model::LzmaModel;
pub use params::{Bcj, XzParams};

pub(crate) use check::check_parameters;

#[cfg(test)]
pub(crate) use codec::encode_stream;
pub(crate) use codec::{StreamDecoder, XzEncoder, encode, encoded, encoder_memory};
pub(crate) use model::DECODER_MEMORY;
pub(crate) use settings::{MIN_DICT, Search, Settings, decoder_options, options};
pub(crate) use stream::{CodeResult, Format, Stream, encoder_usage};

pub(crate) const NAME: &str = "xz";

pub(crate) const HELP: &str = "\
xz: LZMA2 in .xz streams with a CRC-32
  level=0..9         effort (default 6); also preset=
  level=max          9 and extreme, with the lc, lp and pb that make each block smallest
";

/// Help on the parameters of [`LzmaModel`].
pub(crate) const MODEL_HELP: &str = "\
  extreme            search longer for a slightly smaller result; also e
  dictsize=SIZE      bytes with K or M, or a share of the block size with % (default 100%): 8K to 1M, and
                     2^n or 2^n+2^(n+1) bytes, such as 75% or 48K; also dict-size=
  lc=0..4            literal context bits (default 3); lc and lp together at most 4
  lp=0..4            literal position bits (default 0)
  pb=0..4            position bits (default 2)
";

pub(crate) const FILTERS_HELP: &str = "\
filters for machine code: each block is compressed without a filter and with each named one, and the smallest
result is kept; metadata is compressed without filters
  x86 powerpc arm armthumb sparc
  ia64               many kernels lack it now
  arm64 riscv        Linux reads these since 6.12
  auto               choose at most one of x86, powerpc, arm, armthumb and sparc, and lc, lp and pb, for
                     each block by counting, in little more time than without filters; auto,arm64 and
                     auto,riscv add these filters
also accepted: bcj=FILTER
";
