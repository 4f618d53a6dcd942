//! The format of sealed files (docs/format/encrypted.md).

mod chunk_size;
mod head;
mod made_for;
pub(crate) mod padding;
mod stanzas;

pub use chunk_size::ChunkSize;
pub(crate) use chunk_size::{CHUNK_OVERHEAD, HEADER, TAG};
pub use head::MAGIC;
pub(crate) use head::{Head, KEY_CHECK};
pub use made_for::MadeFor;
pub(crate) use stanzas::{Stanza, stanzas};
