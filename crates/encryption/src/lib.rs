//! Sealed streams: any bytes, encrypted so that they can be read at any offset. docs/format/encrypted.md describes the format.
//!
//! The content is divided into chunks of one size. AES-256-GCM seals each chunk with its number and whether it is the last. The key is
//! derived from a random file key and the complete head. The head holds the file key wrapped for recipients and passphrases; each wrap is
//! an age(1) file. The crate knows nothing about the content.

mod cipher;
mod error;
mod format;
mod keys;
mod memory;
mod private_file;
mod read;
mod write;

pub use age::secrecy::SecretString;
pub use error::{Error, Part};
pub use format::{ChunkSize, MAGIC, MadeFor};
pub use keys::{Ask, Identities, Recipients};
pub use memory::memory;
pub use packline_runtime::{Input, Resources, Sink};
pub use private_file::{PrivateFile, PrivateWriter};
pub use read::{Damage, OpenedHead, PlainInput, PlainStream, SealedHead};
pub use write::{Sealing, SealingSink};
pub use zeroize::Zeroizing;

#[cfg(test)]
mod tests;
