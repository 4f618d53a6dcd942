//! xz: one .xz stream of one block (xz `doc/xz-file-format.txt`) with LZMA2 and at most one branch filter.

mod codec;
mod dict;
mod model;
mod params;
mod settings;
#[allow(unsafe_code)] // calls a C library
mod stream;

pub use dict::{DictSize, Percent};
pub use model::LzmaModel;
pub use params::{Bcj, XzParams};

pub(crate) use codec::{XzDecoder, XzEncoder, decode, encode, encoder_memory};
pub(crate) use settings::Settings;
pub(crate) use stream::{Code, Format, Stream, encoder_usage};
