//! Sealed streams: any bytes, encrypted so that they can be read at any offset; docs/format/encrypted.md describes the format.
//!
//! The content is cut into chunks of one size, each sealed by AES-256-GCM with its number and whether it is the last. The key is
//! derived from a random file key and the whole head, which holds the file key wrapped for recipients and passphrases, each wrap a
//! file of age(1). Knows nothing of what is sealed.

mod cipher;
mod error;
mod format;
mod keys;
mod memory;
mod read;
mod write;

pub use age::secrecy::SecretString;
pub use error::{Error, Part};
pub use format::{ChunkSize, MAGIC, MadeFor};
pub use keys::{Ask, Identities, Recipients};
pub use memory::memory;
pub use packline_runtime::{Input, Resources, Sink};
pub use read::{Damage, OpenedHead, PlainInput, PlainStream, SealedHead};
pub use write::{Sealing, SealingSink};
pub use zeroize::Zeroizing;

#[cfg(test)]
mod tests;
