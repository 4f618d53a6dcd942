//! xz: one .xz stream of one block (xz `doc/xz-file-format.txt`) with LZMA2 and at most one branch filter.

#[allow(unsafe_code)] // calls a C library
mod bare_reader;
mod codec;
mod dict;
mod model;
mod params;
mod settings;
#[allow(unsafe_code)] // calls a C library
mod stream;
#[allow(unsafe_code)] // memory for a C library
mod tables;

pub use bare_reader::RawLzmaReader;
pub use dict::{DictSize, Percent};
pub use model::LzmaModel;
pub use params::{Bcj, XzParams};

pub(crate) use codec::{XzDecoder, XzEncoder, decode, encode, encoded, encoder_memory};
pub(crate) use settings::{Search, Settings, options};
pub(crate) use stream::{Code, Format, Stream, encoder_usage};
