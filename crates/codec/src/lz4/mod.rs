//! LZ4: raw blocks (lz4 `doc/lz4_Block_format.md`), fast or high compression.

#[allow(unsafe_code)] // calls a C library
mod block;
mod params;

pub use params::Lz4Params;

pub(crate) use block::{Lz4Decoder, Lz4Encoder, state_size};

pub(crate) const NAME: &str = "lz4";
/// Alias of lz4 with `hc`.
pub(crate) const HC_NAME: &str = "lz4hc";

pub(crate) const HELP: &str = "\
lz4: raw blocks
  hc                 compress slower and better; reading is as fast
  level=1..12        effort of hc (default 12); also compression-level=
  acceleration=1..65537  without hc: faster and larger (default 1)
";

pub(crate) const HC_HELP: &str = "\
lz4hc: raw LZ4 blocks, compressed slower and better; the same as lz4:hc
  level=1..12        effort (default 12); also compression-level=
";
