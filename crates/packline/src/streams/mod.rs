//! Containers of one stream of bytes, .lrz and .pln files, and deltas between files.

#[cfg(any(feature = "lrz", feature = "pln"))]
pub(crate) mod codecs;
#[cfg(any(feature = "lrz", feature = "pln"))]
pub(crate) mod convert;
#[cfg(feature = "delta")]
pub(crate) mod delta;
#[cfg(feature = "pln")]
pub(crate) mod encrypted;
#[cfg(feature = "lrz")]
pub(crate) mod lrz;
#[cfg(any(feature = "lrz", feature = "pln"))]
pub(crate) mod opened_input;
#[cfg(any(feature = "lrz", feature = "pln"))]
mod output_stream;
#[cfg(feature = "pln")]
pub(crate) mod pln;
#[cfg(feature = "pln")]
pub(crate) mod pln_reader;
#[cfg(any(feature = "lrz", feature = "pln"))]
pub(crate) mod request;
#[cfg(feature = "pln")]
mod resumed_sink;
#[cfg(feature = "pln")]
mod tail_stream;
