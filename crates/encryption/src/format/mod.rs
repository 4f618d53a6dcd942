//! The format of sealed files (docs/format/encrypted.md).

mod head;
pub(crate) mod padding;
mod stanzas;

pub(crate) use head::{CHUNK_OVERHEAD, HEADER, Head, KEY_CHECK, TAG};
pub use head::{ChunkSize, MAGIC};
pub use stanzas::MadeFor;
pub(crate) use stanzas::{Stanza, stanzas};
