//! gzip as containers name it: DEFLATE (RFC 1951) in a zlib wrapper (RFC 1950).

#[allow(unsafe_code)] // calls a C library
mod libdeflate;
mod params;
mod trial;
#[allow(unsafe_code)] // calls a C library
mod zlib;

pub use params::{GzipEngine, GzipParams, Strategy};

pub(crate) use libdeflate::{Deflater, Inflater, gzip_bound};
pub(crate) use trial::{Trial, encoder_memory};

pub(crate) const NAME: &str = "gzip";

/// Memory of a decoder in bytes.
pub(crate) const DECODER_MEMORY: usize = 16 * 1024;

pub(crate) const HELP: &str = "\
gzip: DEFLATE in a zlib wrapper; every reader accepts all of these
  level=1..12        effort (default 9); 10 to 12 are slow and about 2 % smaller
  window=8..15       window of 2^N bytes (default 15); 8 means 9; all except 15 use zlib, up to level 9
  engine=auto        libdeflate where possible, zlib for other windows and strategies (default)
  engine=libdeflate  only libdeflate: window 15, strategy default
  engine=zlib        only zlib, as other packers: levels up to 9, about four times slower
strategies: each named one is tried on each block and the smallest result is kept (default: default)
  default            data of all kinds
  filtered           fewer short matches, for numbers that vary little
  huffman            no matches; also huffman_only
  rle                matches at distance 1 only; also run_length_encoded
  fixed              the format's fixed codes
also accepted: compression-level=, window-size=, strategy=
";
